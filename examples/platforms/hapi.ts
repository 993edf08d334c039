import { nodeHandler } from "@esim-webhooks/core";
import { server as createServer } from "@hapi/hapi";

const esimWebhooks = nodeHandler({
  "esim.faulted": async ({ data }) => console.log(`faulted: ${data.reason}`),
});

const server = createServer({ host: "127.0.0.1", port: Number(process.env["PORT"] ?? 3000) });
server.route({
  method: "*",
  path: "/webhooks",
  options: { payload: { parse: false, output: "stream", maxBytes: 64 * 1024 * 1024 } }, // the receiver has the limits
  handler({ raw }, toolkit) {
    esimWebhooks(raw.req, raw.res);
    return toolkit.abandon; // the receiver has written the response itself
  },
});

await server.start().catch((error: Error) => {
  console.error(`The receiver cannot listen: ${error.message}. Set PORT to a free port.`);
  process.exit(1);
});
console.log(`listening at ${server.info.uri}`);
