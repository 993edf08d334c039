// A server of the embedded bench, in its own process: `embedded-server.ts <ours | peer> <database file>`.
import type { AddressInfo } from "node:net";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { webhookPlugin } from "@esim-webhooks/fastify";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import SQLite from "better-sqlite3";
import fastify, { type FastifyInstance } from "fastify";
import { Webhook } from "standardwebhooks";

const [variant, path = ""] = process.argv.slice(2);

async function ours(app: FastifyInstance): Promise<void> {
  await app.register(webhookPlugin, { inbox: sqliteInbox({ path }) });
}

/** A handwritten server: verify, insert, answer, with the same sync setting. */
async function handWritten(app: FastifyInstance): Promise<void> {
  const database = new SQLite(path);
  database.pragma("journal_mode = wal");
  database.pragma("synchronous = full");
  database.exec(
    "create table if not exists hand_written (id text primary key, body blob, received_at integer)",
  );
  const insert = database.prepare("insert into hand_written values (?, ?, ?) on conflict do nothing");
  const webhook = new Webhook(process.env["ESIM_WEBHOOK_SECRET"] ?? "");
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (_request, body, done) =>
    done(null, body),
  );
  app.post<{ Body: Buffer }>("/webhooks", async ({ body, headers }, reply) => {
    webhook.verify(body, headers as Record<string, string>);
    insert.run(headers["webhook-id"], body, Date.now());
    return reply.code(202).send({ outcome: "stored" });
  });
}

const app = fastify();
await (variant === "ours" ? ours : handWritten)(app);
const loop = monitorEventLoopDelay({ resolution: 1 });
loop.enable();
app.get("/loop-p99-ms", async () => {
  const p99Ms = loop.percentile(99) / 1e6;
  loop.reset();
  return p99Ms;
});
await app.listen({ host: "127.0.0.1", port: 0 });
console.log((app.server.address() as AddressInfo).port);

// the parent closes standard input to end this process
process.stdin.resume().on("end", () => process.exit());
