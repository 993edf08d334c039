export type { WebhookPlugin, WebhookPluginOptions } from "./webhook-plugin.ts";
export { webhookPlugin } from "./webhook-plugin.ts";
