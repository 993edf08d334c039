import { createKeyring, verify } from "@esim-webhooks/core";
import type { FastifyInstance } from "fastify";
import pg from "pg";

interface Waiting {
  readonly id: string;
  readonly body: Buffer;
  readonly stored: () => void;
  readonly failed: (error: unknown) => void;
}

/** Creates a schema with a table like the events of `schema`: with its indexes and its storage parameters. */
export async function createLike(client: pg.Client | pg.Pool, schema: string, copy: string): Promise<void> {
  const { rows } = await client.query<{ parameters: string }>(
    `select array_to_string(reloptions, ', ') as parameters from pg_class where oid = '${schema}.event'::regclass`,
  );
  await client.query(`
    create schema ${copy};
    create table ${copy}.event (like ${schema}.event including all) with (${rows[0]?.parameters})`);
}

/** The barest insert of bodies into a table like ours: one statement, with no comparison and no limits. */
export function insertBare(
  client: pg.Client,
  schema: string,
  rows: readonly { readonly id: string; readonly body: Uint8Array }[],
): Promise<unknown> {
  const begins: number[] = [];
  let begin = 1;
  for (const { body } of rows) {
    begins.push(begin);
    begin += body.length;
  }
  const columns = [rows.map(({ id }) => id), begins, rows.map(({ body }) => body.length)];
  return client.query(
    `insert into ${schema}.event (source, id, state, due_at, type, body, fingerprint, received_at, occurred_at)
    select 'default', id, 'ready', now(), 'esim.enabled', substring($1::bytea from body_begin for body_length), 1, now(), now()
    from unnest($2::text[], $3::int[], $4::int[]) as given (id, body_begin, body_length)
    on conflict do nothing`,
    [Buffer.concat(rows.map(({ body }) => body)), ...columns.map((column) => `{${column.join()}}`)],
  );
}

/**
 * The floor of accepting into Postgres: a bare route that verifies, and stores what came while the last statement was under way by the next one,
 * on one connection, into the table and the indexes of ours. It parses and compares no body, limits no time, and answers all of a
 * statement alike.
 */
export async function gathering(app: FastifyInstance, url: string, secret: string): Promise<void> {
  const keyring = createKeyring(secret);
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => {});
  await client.connect();
  await createLike(client, "esim_webhooks", "gathered");
  let waiting: Waiting[] = [];
  let isStoring = false;

  async function storeAll(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      try {
        await insertBare(client, "gathered", batch);
        for (const { stored } of batch) stored();
      } catch (error) {
        for (const { failed } of batch) failed(error);
      }
    }
    isStoring = false;
  }

  app.addHook("onClose", () => client.end());
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (_request, body, done) =>
    done(null, body),
  );
  app.post<{ Body: Buffer }>("/webhooks", async ({ body, headers }, reply) => {
    const proof = verify({ headers, body }, keyring);
    if (!proof.ok) return reply.code(401).send();
    await new Promise<void>((stored, failed) => {
      waiting.push({ id: proof.id, body, stored, failed });
      if (isStoring) return;
      isStoring = true;
      setImmediate(storeAll); // with all that arrived in this tick of the event loop
    });
    return reply.code(202).send();
  });
}
