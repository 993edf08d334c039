import type { AddressInfo } from "node:net";
import { nodeHandler } from "@esim-webhooks/core";
import Koa from "koa";

const esimWebhooks = nodeHandler({
  "esim.faulted": async ({ data }) => console.log(`faulted: ${data.reason}`),
});

const app = new Koa();
// before any body parser
app.use((context, next) => {
  if (context.path !== "/webhooks") return next();
  context.respond = false; // the receiver writes the response itself
  return esimWebhooks(context.req, context.res);
});

const server = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  console.log(`listening at http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
server.on("error", (error) => {
  console.error(`The receiver cannot listen: ${error.message}. Set PORT to a free port.`);
  process.exit(1);
});
