import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Redis } from "ioredis";
import { sql } from "kysely";
import { onTestFinished } from "vitest";
import { createData } from "../inbox-data.ts";
import { type Run, runNode } from "../run.ts";
import { privateRedis } from "../servers/index.ts";
import { postgresUrl } from "../servers/shared.ts";
import { type Engine, type OperatedInbox, open, type WorkedEngine, type WorkedInbox } from "./engines.ts";

/** A new inbox for one test, and what its database has. */
export interface Place<Of extends Engine = Engine, Opened = OperatedInbox> {
  readonly engine: Of;
  /** For `open`. */
  readonly at: string;
  readonly inbox: Opened;
  /** All that is stored, as text. */
  everything(): Promise<string>;
  /** Starts a process that does this: see process.ts. It is killed at the end of the test, if not before. */
  start(command: string, ...args: readonly string[]): Run;
}

/** A place in which core's workers handle events. */
export interface WorkedPlace extends Place<WorkedEngine, WorkedInbox> {
  /** Adds a row to what `latestOnly` remembers. */
  remember(subject: string): Promise<void>;
  /** The events of the effects that handlers have written, sorted. */
  effects(): Promise<readonly string[]>;
}

export const worked: readonly WorkedEngine[] = ["sqlite", "postgres"];

export function createPlace(engine: WorkedEngine): Promise<WorkedPlace> {
  return engine === "sqlite" ? sqlitePlace() : postgresPlace();
}

async function sqlitePlace(): Promise<WorkedPlace> {
  const folder = mkdtempSync(join(tmpdir(), "esim-webhooks-operators-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const at = join(folder, "events.db");
  const inbox = opened(open.sqlite(at));
  await inbox.ready();
  const database = new DatabaseSync(at, { timeout: 60_000 });
  onTestFinished(() => database.close());
  database.exec("create table effect (event text not null)");
  return {
    ...{ engine: "sqlite", at, inbox, start: starter("sqlite", at) },
    async remember(subject) {
      database.prepare("insert into esim_webhooks_latest values ('esim', ?, 1000)").run(subject);
    },
    async everything() {
      const tables = ["event", "latest", "state"].map((name) => `esim_webhooks_${name}`);
      const rows = tables.flatMap((name) => database.prepare(`select * from ${name}`).all());
      return readable(rows.map((row) => Object.values(row)));
    },
    effects: async () =>
      database
        .prepare("select event from effect order by event")
        .all()
        .map((row) => String(row["event"])),
  };
}

async function postgresPlace(): Promise<WorkedPlace> {
  process.env["DATABASE_URL"] = postgresUrl;
  const { schema: at, db } = await createData(postgresUrl);
  const inbox = opened(open.postgres(at));
  await inbox.migrate?.();
  return {
    ...{ engine: "postgres", at, inbox, start: starter("postgres", at) },
    async remember(subject) {
      await sql`insert into ${sql.id(at, "latest")} values ('esim', ${subject}, now())`.execute(db);
    },
    async everything() {
      const tables = ["event", "latest", "state"].map((name) => sql.id(at, name));
      const all = tables.map((name) => sql<Record<string, unknown>>`select * from ${name}`.execute(db));
      return readable((await Promise.all(all)).flatMap(({ rows }) => rows.map((row) => Object.values(row))));
    },
    async effects() {
      const rows = await db.selectFrom("effect").select("event").orderBy("event").execute();
      return rows.map(({ event }) => event);
    },
  };
}

export async function redisPlace(): Promise<Place<"bullmq">> {
  const server = await privateRedis();
  onTestFinished(() => server.close());
  const admin = new Redis(server.url);
  onTestFinished(() => admin.disconnect());
  const inbox = opened(open.bullmq(server.url));
  await inbox.ready();
  return {
    ...{ engine: "bullmq", at: server.url, inbox, start: starter("bullmq", server.url) },
    async everything() {
      const keys = await admin.keys("*");
      const values = keys.map(async (key) => {
        const type = await admin.type(key);
        if (type === "hash") return Object.values(await admin.hgetall(key));
        if (type === "stream") return (await admin.xrange(key, "-", "+")).flatMap(([, fields]) => fields);
        return type === "string" ? [await admin.get(key)] : [];
      });
      return readable(await Promise.all(values));
    },
  };
}

function opened<Inbox extends OperatedInbox>(inbox: Inbox): Inbox {
  onTestFinished(() => inbox.close());
  return inbox;
}

function starter(engine: Engine, at: string): Place["start"] {
  return (command, ...args) => {
    const run = runNode(["test/operators/process.ts", engine, at, command, ...args]);
    onTestFinished(() => void run.child.kill("SIGKILL"));
    return run;
  };
}

/** Values as text: bytes, and what is in base64, as the text that they encode. */
function readable(rows: readonly (readonly unknown[])[]): string {
  const text = rows
    .flat()
    .map((value) =>
      value instanceof Uint8Array ? Buffer.from(value).toString() : (JSON.stringify(value) ?? ""),
    )
    .join("\n");
  const decoded = [...text.matchAll(/[\w+/=]{40,}/g)].map(([part]) => Buffer.from(part, "base64").toString());
  return [text, ...decoded].join("\n");
}
