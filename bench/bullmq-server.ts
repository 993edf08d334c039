// A server of the BullMQ bench, in its own process: `bullmq-server.ts <ours | peer> <Redis URL>`.
import type { AddressInfo } from "node:net";
import { webhookPlugin } from "@esim-webhooks/fastify";
import { bullmqInbox } from "@esim-webhooks/queue-bullmq";
import { Queue } from "bullmq";
import fastify, { type FastifyInstance } from "fastify";
import { Webhook } from "standardwebhooks";

const [variant, url = ""] = process.argv.slice(2);

async function ours(app: FastifyInstance): Promise<void> {
  const inbox = bullmqInbox({ connection: url, name: "ours" });
  await inbox.ready();
  await app.register(webhookPlugin, { inbox });
}

/** A handwritten server: verify, queue.add, answer. */
async function handWritten(app: FastifyInstance): Promise<void> {
  const queue = new Queue("peer", { connection: { url } });
  const webhook = new Webhook(process.env["ESIM_WEBHOOK_SECRET"] ?? "");
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (_request, body, done) =>
    done(null, body),
  );
  app.post<{ Body: Buffer }>("/webhooks", async ({ body, headers }, reply) => {
    const event = webhook.verify(body, headers as Record<string, string>);
    const id = String(headers["webhook-id"]);
    await queue.add("event", { id, event }, { deduplication: { id, ttl: 30 * 86_400_000 } });
    return reply.code(202).send({ outcome: "stored" });
  });
}

const app = fastify();
await (variant === "ours" ? ours : handWritten)(app);
await app.listen({ host: "127.0.0.1", port: 0 });
console.log((app.server.address() as AddressInfo).port);

// the parent closes standard input to end this process
process.stdin.resume().on("end", () => process.exit());
