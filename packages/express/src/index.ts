export type { ExpressRequest, WebhookRouter, WebhookRouterOptions } from "./webhook-router.ts";
export { webhookRouter } from "./webhook-router.ts";
