export type { EndpointError, EndpointErrorCode } from "./base/errors.ts";
export type { DeliveryFate } from "./listing/delivery-fate.ts";
export { fateOf } from "./listing/delivery-fate.ts";
export { newestMs, occurredAtMs, sentAtMs } from "./listing/delivery-times.ts";
export type { DeliveriesPage, ReadDeliveriesOptions } from "./listing/read-deliveries.ts";
export { readDeliveries } from "./listing/read-deliveries.ts";
