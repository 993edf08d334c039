// A server of the inbox bench, in its own process: `inbox-server.ts <ours | peer | verifying | forgetting | gathering> <database URL>`.
import type { AddressInfo } from "node:net";
import { createKeyring, verify } from "@esim-webhooks/core";
import { webhookPlugin } from "@esim-webhooks/fastify";
import { postgresInbox } from "@esim-webhooks/store-postgres";
import fastify, { type FastifyInstance } from "fastify";
import pg from "pg";
import { Webhook } from "standardwebhooks";
import { gathering } from "./inbox-gathering.ts";

const [variant = "", url = ""] = process.argv.slice(2);
const secret = process.env["ESIM_WEBHOOK_SECRET"] ?? "";

/** Our receiver in front of an inbox that keeps nothing: what of accepting is not the database. */
async function forgetting(app: FastifyInstance): Promise<void> {
  await app.register(webhookPlugin, { inbox: { put: async (entries) => entries.map(() => "stored") } });
}

async function ours(app: FastifyInstance): Promise<void> {
  const inbox = postgresInbox({ url }); // its pool has ten connections
  await inbox.migrate();
  await app.register(webhookPlugin, { inbox });
}

function readsBuffers(app: FastifyInstance): void {
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (_request, body, done) =>
    done(null, body),
  );
}

/** The floor of any receiver: a bare route that verifies with our `verify`, and stores nothing. */
async function verifying(app: FastifyInstance): Promise<void> {
  const keyring = createKeyring(secret);
  readsBuffers(app);
  app.post<{ Body: Buffer }>("/webhooks", async ({ body, headers }, reply) =>
    reply.code(verify({ headers, body }, keyring).ok ? 202 : 401).send(),
  );
}

/** A handwritten server: verify, insert, answer. */
async function handWritten(app: FastifyInstance): Promise<void> {
  const pool = new pg.Pool({ connectionString: url, max: 10 });
  await pool.query(
    "create table if not exists hand_written (id text primary key, body bytea, received_at timestamptz)",
  );
  const webhook = new Webhook(secret);
  readsBuffers(app);
  app.post<{ Body: Buffer }>("/webhooks", async ({ body, headers }, reply) => {
    webhook.verify(body, headers as Record<string, string>);
    await pool.query("insert into hand_written values ($1, $2, now()) on conflict do nothing", [
      headers["webhook-id"],
      body,
    ]);
    return reply.code(202).send({ outcome: "stored" });
  });
}

const variants: Readonly<Record<string, (app: FastifyInstance) => Promise<void>>> = {
  ours,
  peer: handWritten,
  verifying,
  forgetting,
  gathering: (app) => gathering(app, url, secret),
};
const app = fastify();
await variants[variant]?.(app);
await app.listen({ host: "127.0.0.1", port: 0 });
console.log((app.server.address() as AddressInfo).port);

// the parent closes standard input to end this process
process.stdin.resume().on("end", () => process.exit());
