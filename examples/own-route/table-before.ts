// A Fastify route that notes each id in a table of its own: the starting point of the last section of docs/own-route.md.
import { createHmac, timingSafeEqual } from "node:crypto";
import fastify from "fastify";
import pg from "pg";

const pool = new pg.Pool({
  connectionString: process.env["DATABASE_URL"] ?? "postgres://postgres@localhost:5432/postgres",
});
pool.on("error", (error) => console.error(error.message));
await pool.query("create table if not exists handled (id text primary key)");
await pool.query("create table if not exists effects (id text, route text)");
const key = Buffer.from((process.env["ESIM_WEBHOOK_SECRET"] ?? "").replace("whsec_", ""), "base64");

const app = fastify();
app.removeAllContentTypeParsers();
app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
app.post<{ Body: Buffer; Headers: Record<string, string> }>("/webhooks", async ({ headers, body }, reply) => {
  const id = headers["webhook-id"] ?? "";
  const signed = `${id}.${headers["webhook-timestamp"]}.${body}`;
  const expected = Buffer.from(`v1,${createHmac("sha256", key).update(signed).digest("base64")}`);
  const signature = Buffer.from(headers["webhook-signature"] ?? "");
  if (signature.length !== expected.length || !timingSafeEqual(signature, expected))
    return reply.code(401).send();
  const client = await pool.connect();
  try {
    await client.query("begin");
    const noted = await client.query("insert into handled values ($1) on conflict do nothing", [id]);
    if (noted.rowCount === 1) await client.query("insert into effects values ($1, 'old')", [id]);
    await client.query("commit");
  } finally {
    client.release();
  }
  return reply.code(200).send();
});

const address = await app
  .listen({ host: "127.0.0.1", port: Number(process.env["PORT"] ?? 3000) })
  .catch((error: Error) => {
    console.error(`The receiver cannot listen: ${error.message}. Set PORT to a free port.`);
    process.exit(1);
  });
console.log(`listening at ${address}`);

process.once("SIGTERM", async () => {
  await app.close();
  await pool.end();
});
