import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type InboxRow, WebhookError } from "@esim-webhooks/core";
import { postgresInbox, postgresState, postgresStore } from "@esim-webhooks/store-postgres";
import pg from "pg";
import { entry, key } from "../../test/inbox-entry.ts";
import { asNobody, type TestServer } from "../../test/servers/kept-server.ts";
import { makeNewFiles, postgresOn } from "../../test/servers/postgres.ts";
import { expectAll, type Writer } from "./writer.ts";

const leaseMs = 60_000;
const timeoutMs = 60_000; // the machine may be busy
const most = 1000;
const stateName = "lab";
const documented: readonly string[] = ["store_unavailable", "store_full"];
/** Small, so that checkpoints, new segments and evicted pages are frequent. Only the stores' own setting makes a commit wait for the disk. */
const settings = {
  max_connections: "20",
  shared_buffers: "512kB",
  min_wal_size: "2MB",
  max_wal_size: "2MB",
  autovacuum: "off", // `upkeep` does it
  synchronous_commit: "off",
  wal_writer_delay: "10s",
};

/** For each promise about an event, the states that it may be in from then on. `erased` is done without anything of its subject. */
const statesAfter: Readonly<Record<string, readonly string[]>> = {
  stored: ["ready", "leased", "dead", "done", "erased"],
  dead: ["dead", "ready", "leased", "done"],
  redriven: ["ready", "leased", "done"],
  done: ["done"],
  erased: ["erased"],
};

type Acknowledge = (what: string) => void;
type Stores = ReturnType<typeof openStores>;

/** A Postgres with the inbox, the dedupe store and the state, whose data folder is on the disk. */
export const postgresWriter: Writer = writerOn(settings);

/** Builds that lose what they acknowledge. */
export const brokenPostgres: Readonly<Record<string, Writer>> = {
  "fsync = off": writerOn({ ...settings, fsync: "off" }),
  "stores that leave synchronous_commit = off": writerOn(settings, leaveSynchronousCommit),
};

function writerOn(settings: Record<string, string>, change: (pool: pg.Pool) => void = () => {}): Writer {
  async function using(folder: string, use: (stores: Stores) => Promise<void>): Promise<void> {
    const server = await start(folder, settings);
    const pool = new pg.Pool({ connectionString: server.url, max: 4 });
    pool.on("error", () => {}).on("connect", (client) => client.on("error", () => {}));
    change(pool);
    const stores = openStores(pool);
    try {
      await use(stores);
    } finally {
      await Promise.allSettled([stores.inbox.close(), stores.store.close(), stores.state.close()]);
      await pool.end();
      await server.close();
    }
  }
  return {
    name: "postgres",
    faults: ["one failed sync", "a full disk", "no disk"],
    isSlow: true,
    prepare: copyNewFiles,
    write: (folder, acknowledge) =>
      using(folder, async (stores) => {
        for (let times = 0; times < 2; times++)
          await all([
            writeEvents(stores, acknowledge),
            mark(stores, acknowledge),
            writeState(stores, acknowledge),
            upkeep(stores),
          ]);
      }).catch(refuseUndocumented),
    check: (folder, acknowledged) => using(folder, (stores) => check(stores, acknowledged)),
  };
}

function openStores(pool: pg.Pool) {
  return {
    pool,
    inbox: postgresInbox({ pool, timeoutMs }),
    store: postgresStore({ pool, timeoutMs }),
    state: postgresState({ pool, timeoutMs }),
  };
}

/** Lets events be done, or dead, redriven and then done, or erased. */
async function writeEvents({ inbox }: Stores, acknowledge: Acknowledge): Promise<void> {
  const [done, redriven, erased] = [newIds(3), newIds(2), newIds(2)];
  const put = async (id: string) => {
    await inbox.put([entry(id)]);
    acknowledge(`stored ${id}`);
  };
  const settle = async (dead: readonly string[]) => {
    const settlements = (await inbox.take({ limit: most, leaseMs })).map(({ source, id, token }) =>
      dead.includes(id)
        ? ({ source, id, token, state: "dead", error: "the lab" } as const)
        : ({ source, id, token, state: "done" } as const),
    );
    const held = await inbox.settle(settlements);
    for (const [n, { id, state }] of settlements.entries()) if (held[n]) acknowledge(`${state} ${id}`);
  };
  await all([...done, ...redriven, ...erased].map(put));
  for (const id of erased) {
    await inbox.erase(`esim ${id}`);
    acknowledge(`erased ${id}`);
  }
  await settle(redriven);
  await inbox.redrive();
  for (const id of redriven) acknowledge(`redriven ${id}`);
  await settle([]);
}

const newIds = (count: number) => Array.from({ length: count }, () => randomUUID());

async function mark({ store }: Stores, acknowledge: Acknowledge): Promise<void> {
  for (let n = 0; n < 3; n++) {
    const id = randomUUID();
    const claim = await store.claim(key(id), leaseMs);
    if (claim.status === "claimed" && (await store.complete(key(id), claim.token)))
      acknowledge(`marked ${id}`);
  }
}

async function writeState({ state }: Stores, acknowledge: Acknowledge): Promise<void> {
  for (let n = 0; n < 3; n++) {
    const stored = await state.read(stateName);
    const next = Number(stored?.value ?? 0) + 1;
    if (await state.write(stateName, next, stored?.version)) acknowledge(`written ${next}`);
  }
}

/** What a server does at any time. Its failures are the server's own. */
async function upkeep({ pool }: Stores): Promise<void> {
  for (const statement of ["checkpoint", "vacuum esim_webhooks.event", "checkpoint"])
    await pool.query(statement).catch(() => {});
}

async function check({ inbox, store, state }: Stores, acknowledged: readonly string[]): Promise<void> {
  for (const each of [inbox, store, state]) await each.ready();
  const { rows } = await inbox.list({}, { limit: most });
  const states = new Map(rows.map((row) => [row.id, stateOf(row)]));
  const marked = new Set<string>();
  for (const [promise, id = ""] of acknowledged.map((what) => what.split(" ")))
    if (promise === "marked" && (await store.claim(key(id), leaseMs)).status === "done") marked.add(id);
  const written = Number((await state.read(stateName))?.value ?? 0);
  expectAll(acknowledged, (what) => {
    const [promise = "", text = ""] = what.split(" ");
    if (promise === "marked") return marked.has(text);
    if (promise === "written") return written >= Number(text);
    return statesAfter[promise]?.includes(states.get(text) ?? "missing") ?? false;
  });
  for (const row of rows) {
    const event = await inbox.get(row);
    const hasBody = event?.body !== null && event?.body !== undefined;
    if (["ready", "leased", "dead"].includes(row.state) && !hasBody) throw new Error(`${row.id} has no body`);
  }
  const counted = await inbox.count();
  if (counted !== rows.length) throw new Error(`${counted} events are counted, and ${rows.length} listed`);
  await Promise.all([inbox.stats(), inbox.gauges(), inbox.sources?.(), inbox.minutes?.(), inbox.paused()]);
}

const stateOf = ({ state, error }: InboxRow) => (error === "erased" ? "erased" : state);

/** Waits for all of them, also if one fails. */
async function all(promises: readonly Promise<void>[]): Promise<void> {
  for (const one of await Promise.allSettled(promises)) if (one.status === "rejected") throw one.reason;
}

function refuseUndocumented(error: unknown): never {
  if (WebhookError.is(error) && documented.includes(error.code)) throw error;
  throw new Error("a call failed in a way that is not documented", { cause: error });
}

/** Copies the files of a new Postgres with our tables, which was stopped. They are made once, next to the disk. */
async function copyNewFiles(folder: string): Promise<void> {
  const made = join(folder, "../../postgres");
  if (!existsSync(made)) await makeFiles(made);
  execFileSync("cp", ["-a", join(made, "data"), folder]);
}

async function makeFiles(folder: string): Promise<void> {
  const data = join(folder, "data");
  mkdirSync(folder);
  giveToServer(folder);
  makeNewFiles(data, "--wal-segsize=1", "--data-checksums");
  const server = await postgresOn(data, settings);
  const pool = new pg.Pool({ connectionString: server.url });
  await postgresInbox({ pool }).migrate();
  await pool.query("update pg_database set datistemplate = false where datname like 'template_'");
  for (const name of ["template0", "template1"]) await pool.query(`drop database ${name}`); // fewer files to copy
  await pool.end();
  await server.stop();
  await server.close();
}

/** Postgres refuses to run as root. */
function giveToServer(folder: string): void {
  const { uid, gid } = asNobody();
  execFileSync("chown", ["-R", `${uid}:${gid}`, folder]);
}

/** Starts a Postgres on these files, as an operator does after a power cut. */
async function start(folder: string, settings: Record<string, string>): Promise<TestServer> {
  try {
    giveToServer(folder);
    removeTornLock(join(folder, "postmaster.pid"));
    return await postgresOn(folder, settings);
  } catch (cause) {
    throw new WebhookError("store_unavailable", "The server does not start.", "See its cause.", { cause });
  }
}

/** Postgres does not start on a lock that was not written completely; Debian's pg_ctlcluster removes it. */
function removeTornLock(file: string): void {
  if (existsSync(file) && !/^\d+\n/.test(readFileSync(file, "utf8"))) rmSync(file);
}

function leaveSynchronousCommit(pool: pg.Pool): void {
  const [ours, left] = ["on", "off"].map((value) => `set_config('synchronous_commit', '${value}'`);
  pool.on("connect", (client) => {
    const query = client.query;
    const send = (text: string, ...rest: readonly unknown[]) =>
      Reflect.apply(query, client, [text.replace(`${ours}`, `${left}`), ...rest]);
    Object.assign(client, { query: send });
  });
}
