import { webhookPlugin } from "@esim-webhooks/fastify";
import fastify from "fastify";
import { capture } from "./capture.ts";

const app = fastify();
await app.register(async (scope) => {
  scope.addHook("onRequest", (request, reply) => capture(request.raw, reply.raw)); // in a scope: only for these deliveries
  await scope.register(webhookPlugin, {
    handlers: { "esim.faulted": ({ data }) => console.log(`faulted: ${data.reason}`) },
  });
});

const url = await app
  .listen({ host: "127.0.0.1", port: Number(process.env["PORT"] ?? 3000) })
  .catch((error: Error) => {
    console.error(`The receiver cannot listen: ${error.message}. Set PORT to a free port.`);
    process.exit(1);
  });
console.log(`listening at ${url}`);
