import { webhookHandler } from "@esim-webhooks/core";
import { H3, serve } from "h3";

const esimWebhooks = webhookHandler({
  "esim.faulted": async ({ data }) => console.log(`faulted: ${data.reason}`),
});

const app = new H3();
app.all("/webhooks", ({ req }) => esimWebhooks(req));

const server = serve(app, { hostname: "127.0.0.1", port: Number(process.env["PORT"] ?? 3000), silent: true });
await server.ready().catch((error: Error) => {
  console.error(`The receiver cannot listen: ${error.message}. Set PORT to a free port.`);
  process.exit(1);
});
console.log(`listening at ${server.url}`);
