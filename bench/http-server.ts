// One server of the http bench, in a process of its own: `http-server.ts <framework> <bare | ours>`.
import type { AddressInfo } from "node:net";
import { webhookRouter } from "@esim-webhooks/express";
import { webhookPlugin } from "@esim-webhooks/fastify";
import express from "express";
import fastify from "fastify";

const [framework, variant] = process.argv.slice(2);
const handlers = { "*": () => {} };

/** A route that reads the body and answers 200: the framework alone. */
function bareExpress() {
  return express().post("/webhooks", (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      Buffer.concat(chunks);
      response.writeHead(200, { "content-type": "application/json" }).end('{"outcome":"processed"}');
    });
  });
}

async function bareFastify() {
  const app = fastify();
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (_request, body, done) =>
    done(null, body),
  );
  app.post("/webhooks", async (_request, reply) =>
    reply.header("content-type", "application/json").send('{"outcome":"processed"}'),
  );
  return app;
}

if (framework === "express") {
  const app = variant === "ours" ? express().use(webhookRouter(handlers)) : bareExpress();
  const server = app.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
} else {
  const app = variant === "ours" ? fastify() : await bareFastify();
  if (variant === "ours") await app.register(webhookPlugin, { handlers });
  await app.listen({ host: "127.0.0.1", port: 0 });
  console.log((app.server.address() as AddressInfo).port);
}
