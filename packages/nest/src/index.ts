export type { NestErrorCode } from "./errors.ts";
export { EsimWebhooks } from "./esim-webhooks.ts";
export type { EsimWebhooksAsyncOptions } from "./esim-webhooks-module.ts";
export { EsimWebhooksModule } from "./esim-webhooks-module.ts";
export type { EsimWebhooksOptions } from "./esim-webhooks-options.ts";
export type { EsimWebhooksHealth } from "./nest-health.ts";
export type { EsimEvent, EsimEventDecorator, EsimEventName, HandlerOf } from "./on-esim-event.ts";
export { eventDecorator, OnEsimEvent } from "./on-esim-event.ts";
