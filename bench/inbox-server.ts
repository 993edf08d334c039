// A server of the inbox bench, in its own process: `inbox-server.ts <ours | peer> <database URL>`.
import type { AddressInfo } from "node:net";
import { webhookPlugin } from "@esim-webhooks/fastify";
import { postgresInbox } from "@esim-webhooks/store-postgres";
import fastify, { type FastifyInstance } from "fastify";
import pg from "pg";
import { Webhook } from "standardwebhooks";

const [variant, url = ""] = process.argv.slice(2);

async function ours(app: FastifyInstance): Promise<void> {
  const inbox = postgresInbox({ url }); // its pool has ten connections
  await inbox.migrate();
  await app.register(webhookPlugin, { inbox });
}

/** A handwritten server: verify, insert, answer. */
async function handWritten(app: FastifyInstance): Promise<void> {
  const pool = new pg.Pool({ connectionString: url, max: 10 });
  await pool.query(
    "create table if not exists hand_written (id text primary key, body bytea, received_at timestamptz)",
  );
  const webhook = new Webhook(process.env["ESIM_WEBHOOK_SECRET"] ?? "");
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (_request, body, done) =>
    done(null, body),
  );
  app.post<{ Body: Buffer }>("/webhooks", async ({ body, headers }, reply) => {
    webhook.verify(body, headers as Record<string, string>);
    await pool.query("insert into hand_written values ($1, $2, now()) on conflict do nothing", [
      headers["webhook-id"],
      body,
    ]);
    return reply.code(202).send({ outcome: "stored" });
  });
}

const app = fastify();
await (variant === "ours" ? ours : handWritten)(app);
await app.listen({ host: "127.0.0.1", port: 0 });
console.log((app.server.address() as AddressInfo).port);

// the parent closes standard input to end this process
process.stdin.resume().on("end", () => process.exit());
