import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { eraseSubject } from "@esim-webhooks/core";
import { latestOnly, type PostgresInbox, postgresInbox } from "@esim-webhooks/store-postgres";
import { Kysely, PostgresDialect, sql } from "kysely";
import pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { laneOf, testErasure, workUntilIdle } from "../../../test/erasure.ts";
import { entry } from "../../../test/inbox-entry.ts";
import { program } from "../../../test/servers/binaries.ts";
import { privatePostgres, type TestServer } from "../../../test/servers/index.ts";

let server: TestServer;
let db: Kysely<unknown>;
beforeAll(async () => {
  server = await privatePostgres({ autovacuum: "off" }); // what the test vacuums is all that is vacuumed
  const pool = new pg.Pool({ connectionString: server.url, max: 3 });
  pool.on("error", () => {}); // the server may end connections before the pool does
  db = new Kysely({ dialect: new PostgresDialect({ pool }) });
});
afterAll(async () => {
  await db.destroy();
  await server.close();
});

/** Personal data that is in events: long, so that it is found as one piece, and bodies that do not fit into a row. */
const subject = "esim_of_erika_mustermann";
const secret = "Erika Mustermann";
const other = "esim_that_stays";

/** All files of the server but its write-ahead log. Postgres compresses large bodies, unless they are random. */
async function filesOf(): Promise<Map<string, Buffer>> {
  const { rows } = await sql<{ data_directory: string }>`show data_directory`.execute(db);
  const folder = rows[0]?.data_directory ?? "";
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const files = names.filter((name) => !name.startsWith("pg_wal") && statSync(join(folder, name)).isFile());
  return new Map(files.map((name) => [name, readFileSync(join(folder, name))]));
}

async function filesWith(text: string): Promise<string[]> {
  return [...(await filesOf())].filter(([, bytes]) => bytes.includes(text)).map(([name]) => name);
}

const dump = () =>
  execFileSync(program("pg_dump", "postgresql-client", "").path, [server.url], {
    encoding: "latin1",
    maxBuffer: 2 ** 28,
  });

async function empty(inbox: PostgresInbox): Promise<void> {
  await inbox.migrate();
  await sql`truncate esim_webhooks.event, esim_webhooks.pause`.execute(db);
}

/** What the planner knows of the values of columns. */
async function statistics(): Promise<Buffer> {
  const { rows } = await sql<{ text: string }>`select pg_stats::text as text from pg_stats`.execute(db);
  return Buffer.from(rows.map(({ text }) => text).join("\n"));
}

it("after any history, no file but the write-ahead log, no dump, no statistics and no line of log have anything of an erased eSIM", async () => {
  let runs = 0;
  await testErasure(async (logger) => {
    runs += 1;
    const inbox = postgresInbox({ kysely: db, lane: laneOf, keepBodies: runs % 2 === 0, logger });
    await empty(inbox);
    return {
      inbox,
      async work(handlers, logger) {
        await workUntilIdle(inbox, handlers, logger);
        await sql`analyze esim_webhooks.event`.execute(db); // as autovacuum does
      },
      async kept() {
        const dumped = dump(); // whether or not old versions were vacuumed
        await sql`vacuum (full, analyze) esim_webhooks.event`.execute(db);
        await sql`vacuum full pg_statistic`.execute(db);
        await sql`checkpoint`.execute(db);
        const files = await filesOf();
        await inbox.close();
        return files.set("a dump", Buffer.from(dumped, "latin1")).set("pg_stats", await statistics());
      },
    };
  }, 10);
});

it("no file of the database but its write-ahead log, and no dump, has the data of an erased eSIM once the tables were rewritten", async () => {
  const inbox = postgresInbox({ kysely: db, lane: ({ data }) => (data as { lane: string }).lane });
  await empty(inbox);
  const put = (name: string, about = subject) => {
    const filler = Array.from({ length: 400 }, () => Math.random().toString(36)).join("");
    const data = { esimReference: about, lane: `${about} ${name}`, holder: secret, filler };
    const event = {
      id: `msg_${name}`,
      type: "esim.enabled",
      timestamp: "2026-01-01T00:00:00Z",
      data: about === subject ? data : { ...data, holder: "stays" },
    };
    const body = Buffer.from(JSON.stringify(event));
    return inbox.put([{ ...entry(event.id), event, body, trace: `trace of ${about}` }]);
  };
  for (const state of ["done", "dead", "unhandled", "failed", "leased"]) {
    await put(state);
    const [lease] = await inbox.take({ limit: 1, leaseMs: 60_000 });
    if (lease === undefined) throw new Error("took none");
    const error = `no such customer: ${secret}`;
    if (state === "done" || state === "unhandled") await inbox.settle([{ ...lease, state }]);
    if (state === "dead") await inbox.settle([{ ...lease, state, error }]);
    if (state === "failed") await inbox.settle([{ ...lease, state: "retry", error, afterMs: 3_600_000 }]);
  }
  await put("ready");
  await put("paused");
  await put("other", other);
  await inbox.pause({ types: ["esim.enabled"], reason: "test" });
  const handle = latestOnly({ state: "profile", schema: "esim_webhooks" }, () => {});
  const latest = {
    id: "msg_latest",
    type: "esim.enabled",
    timestamp: "2026-01-01T00:00:00Z",
    data: { esimReference: subject },
  };
  await db.transaction().execute(async (tx) => handle(latest as never, { tx, discard: () => {} } as never));

  const hex = (text: string) => Buffer.from(text).toString("hex"); // a dump has bodies as hexadecimal digits
  await sql`checkpoint`.execute(db);
  expect([await filesWith(subject), await filesWith(secret)]).not.toContainEqual([]);
  expect(dump()).toContain(hex(secret));
  expect(dump()).toContain(subject);

  await eraseSubject(inbox, subject);
  const dumped = dump(); // whether or not old versions were vacuumed
  for (const text of [subject, secret, hex(subject), hex(secret)]) expect(dumped).not.toContain(text);
  await sql`vacuum full`.execute(db);
  await sql`checkpoint`.execute(db);
  expect([...(await filesWith(subject)), ...(await filesWith(secret))]).toEqual([]);
  expect(await filesWith(other)).not.toEqual([]);
});
