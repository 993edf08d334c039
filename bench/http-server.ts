// A server of the http bench, in its own process: `http-server.ts <framework> <bare | ours>`.
import type { AddressInfo } from "node:net";
import { memoryStore } from "@esim-webhooks/core";
import { webhookRouter } from "@esim-webhooks/express";
import { webhookPlugin } from "@esim-webhooks/fastify";
import express, { type RequestHandler } from "express";
import fastify from "fastify";

const [framework, variant] = process.argv.slice(2);
const handlers = { "*": () => {} };
const store = memoryStore({ maxEntries: 1_000_000 });

/** A route that only reads the body and answers 200. */
function bareExpress() {
  const answer: RequestHandler = (_request, response) => void response.json({ outcome: "processed" });
  return express().post("/webhooks", express.raw({ type: "*/*" }), answer);
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
  const app = variant === "ours" ? express().use(webhookRouter(handlers, { store })) : bareExpress();
  const server = app.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
} else {
  const app = variant === "ours" ? fastify() : await bareFastify();
  if (variant === "ours") await app.register(webhookPlugin, { handlers, store });
  await app.listen({ host: "127.0.0.1", port: 0 });
  console.log((app.server.address() as AddressInfo).port);
}

// the parent writes to standard input to ask for the CPU time so far, and closes it to end this process
process.stdin.on("data", () => {
  const { user, system } = process.cpuUsage();
  console.log(user + system);
});
process.stdin.on("end", () => process.exit());
