export { steadyClock } from "./clock.ts";
export { warnOfSetup } from "./logger.ts";
export type { OptionsShape } from "./options.ts";
export { durationMs, parseOptions, withMethods } from "./options.ts";
export type { StoreGuard, StoreGuardOptions } from "./store-guard.ts";
export { createStoreGuard } from "./store-guard.ts";
export type { StoreOptions } from "./store-options.ts";
export { storeShape, warnOfShortRetention } from "./store-options.ts";
