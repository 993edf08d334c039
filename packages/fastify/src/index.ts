export type { WebhookPluginOptions } from "./plugin-options.ts";
export type { WebhookPlugin } from "./webhook-plugin.ts";
export { webhookPlugin } from "./webhook-plugin.ts";
