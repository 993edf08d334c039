import { randomUUID } from "node:crypto";
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { createWorker, type InboxEntry, type InboxLease, type InboxQueue } from "@esim-webhooks/core";
import {
  type PostgresInbox,
  postgresInbox,
  postgresState,
  postgresStore,
} from "@esim-webhooks/store-postgres";
import { type SqliteInbox, sqliteInbox, sqliteState, sqliteStore } from "@esim-webhooks/store-sqlite";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { entry } from "../../../../test/inbox-entry.ts";
import { postgresUrl } from "../../../../test/servers/shared.ts";
import { cli, type Ended, folder } from "../cli.ts";

let cwd: string;
/** A database of the test's own. */
let database: { readonly name: string; readonly url: string; readonly client: pg.Client };
let embedded: SqliteInbox;
let inbox: PostgresInbox;

const lane = ({ data }: { readonly data: unknown }) => (data as { esimReference: string }).esimReference;

beforeEach(async () => {
  cwd = mkdtempSync(join(tmpdir(), "esim-webhooks-cli-"));
  embedded = sqliteInbox({ path: join(cwd, ".esim-webhooks", "events.db"), lane });
  await embedded.ready();
  const name = `test_${randomUUID().replaceAll("-", "")}`;
  await onServer(`create database ${name}`);
  const url = String(Object.assign(new URL(postgresUrl), { pathname: `/${name}` }));
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  database = { name, url, client };
  inbox = postgresInbox({ url, lane });
});
afterEach(async () => {
  await Promise.all([embedded.close(), inbox.close(), database.client.end()]);
  await onServer(`drop database ${database.name} with (force)`);
  rmSync(cwd, { recursive: true, force: true });
});

async function onServer(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: postgresUrl });
  await client.connect();
  await client.query(statement);
  await client.end();
}

const copy = (...args: string[]): Promise<Ended> =>
  cli(["inbox", "copy", ...args], { cwd, env: { DATABASE_URL: database.url } });

const key = (id: string) => ({ source: "default", id });

function event(id: string, esim: string, timestamp = "2026-11-20T10:00:00Z"): InboxEntry {
  return entry(id, { esim, timestamp });
}

const withAnotherBody = (given: InboxEntry): InboxEntry => ({
  ...given,
  body: Buffer.from(`${given.body} `),
});

type Way = "done" | "unhandled" | "dead" | "retry";

/** Stores an event in the embedded inbox and has it worked. */
async function worked(given: InboxEntry, state: Way): Promise<void> {
  await embedded.put([given]);
  const [lease] = await embedded.take({ limit: 1, leaseMs: 60_000 });
  if (lease?.id !== given.id) throw new Error(`${given.id} was not taken.`);
  if (state === "retry") await embedded.settle([{ ...lease, state, afterMs: 3_600_000, error: "not yet" }]);
  else await embedded.settle([state === "dead" ? { ...lease, state, error: "no SIM" } : { ...lease, state }]);
}

const nothing = { read: 0, copied: 0, updated: 0, alreadyThere: 0, different: [], differentStates: [] };

/** Copies without a difference. */
async function ledgerOfCopy(): Promise<unknown> {
  const { code, stdout } = await copy("--json");
  expect(code).toBe(0);
  return JSON.parse(stdout);
}

/** Takes all events that are due, and settles those that are named. Resolves to the others. */
async function settle(
  { take, settle }: Pick<InboxQueue, "take" | "settle">,
  ways: Readonly<Record<string, Way | "given_back">>,
): Promise<readonly InboxLease[]> {
  const leases = await take({ limit: 10, leaseMs: 60_000 });
  const named = leases.filter(({ id }) => id in ways);
  await settle(
    named.map((lease) => {
      const state = ways[lease.id] ?? "given_back";
      if (state === "retry") return { ...lease, state, afterMs: 3_600_000, error: "not yet" };
      if (state === "dead") return { ...lease, state, error: "no SIM" };
      return { ...lease, state };
    }),
  );
  return leases.filter(({ id }) => !(id in ways));
}

/** Works all events in Postgres that are due. Resolves to the sorted ids of those that ran. */
async function runInPostgres(): Promise<string[]> {
  const ids: string[] = [];
  const worker = createWorker(inbox, { "esim.enabled": ({ id }) => void ids.push(id) });
  const stop = new AbortController();
  const running = worker.run({ signal: stop.signal });
  await expect
    .poll(async () => {
      const { states, oldestReadyMs } = await inbox.stats();
      return { leased: states.leased, oldestReadyMs };
    })
    .toEqual({ leased: 0, oldestReadyMs: null });
  stop.abort();
  await running;
  return ids.sort();
}

describe("inbox copy", () => {
  it("moves every state, and what is known of handled ids, to Postgres", async () => {
    const [done, replayed] = [event("msg_done", "E1"), event("msg_replayed", "E2")];
    const inline = event("msg_inline", "E3");
    await worked(done, "done");
    await worked({ ...replayed, replay: { run: "run_1", rebuilt: false } }, "done");
    await worked(event("msg_dead", "E4"), "dead");
    await worked(event("msg_unhandled", "E5"), "unhandled");
    await worked(event("msg_retried", "E6"), "retry");
    await embedded.put([event("msg_late", "E7", "2026-11-20T10:00:00.000002Z")]);
    await embedded.put([event("msg_early", "E7", "2026-11-20T10:00:00.000001Z")]);
    const inlineStore = sqliteStore({ path: join(cwd, ".esim-webhooks", "events.db") });
    const claim = await inlineStore.claim(key("msg_inline"), 60_000, crc32(inline.body));
    if (claim.status === "claimed") await inlineStore.complete(key("msg_inline"), claim.token);
    await inlineStore.close();

    const ran = await copy();
    expect(ran).toMatchObject({ code: 0 });
    expect(ran.stdout).toBe(
      "LEDGER         EVENTS\ncopied              8\nupdated             0\nalready there       0\ndifferent           0\nread                8\n",
    );
    expect(ran.stderr).toContain(
      `Next: let serve and work use Postgres at ${new URL(database.url).host}/${database.name}`,
    );
    expect(ran.stderr).toContain("Nothing was changed in the embedded inbox in .esim-webhooks.");

    expect((await inbox.stats()).states).toEqual({ ready: 3, leased: 0, done: 3, unhandled: 1, dead: 1 });
    for (const given of [done, inline, replayed]) {
      expect(await inbox.put([given, withAnotherBody(given)])).toEqual(["already_stored", "conflict"]);
    }
    const store = postgresStore({ url: database.url });
    expect(await store.claim(key("msg_inline"), 1000, crc32(inline.body))).toEqual({ status: "done" });
    expect(await store.claim(key("msg_done"), 1000, 7)).toEqual({ status: "done", conflict: true });
    await store.close();
    expect(await inbox.get(key("msg_dead"))).toMatchObject({
      state: "dead",
      error: "no SIM",
      attempts: 1,
      dueAt: null,
      leasedUntil: null,
      keptUntil: null,
    });
    for (const id of ["msg_done", "msg_retried"]) {
      expect((await inbox.get(key(id)))?.keptUntil).toEqual((await embedded.get(key(id)))?.keptUntil);
    }

    const again = (run: string) => inbox.rerun([{ ...replayed, replay: { run, rebuilt: false } }]);
    expect(await again("run_1")).toEqual([false]);
    for (const id of ["msg_early", "msg_late"]) {
      const taken = await inbox.take({ limit: 10, leaseMs: 60_000 });
      expect(taken.map((lease) => lease.id)).toEqual([id]);
      await inbox.settle(taken.map((lease) => ({ ...lease, state: "done" })));
    }
    expect(await again("run_2")).toEqual([true]);
    expect(await inbox.redrive({ state: "unhandled" })).toBe(1);
    const rest = await inbox.take({ limit: 10, leaseMs: 60_000 });
    expect(rest.map(({ id }) => id).sort()).toEqual(["msg_replayed", "msg_unhandled"]);
  });

  it("leaves a paused type paused: of its events none runs in Postgres until it is resumed there", async () => {
    await embedded.put(Array.from({ length: 17 }, (_, n) => event(`msg_${n}`, `E${n}`)));
    await embedded.pause({ types: ["esim.enabled"], reason: "the CRM is down", by: "ada" });
    expect(await ledgerOfCopy()).toEqual({ ...nothing, read: 17, copied: 17 });
    expect(await inbox.paused()).toEqual(await embedded.paused());
    expect((await inbox.list({}, { limit: 20 })).rows).toEqual((await embedded.list({}, { limit: 20 })).rows);
    expect(await inbox.take({ limit: 20, leaseMs: 60_000 })).toEqual([]);
    expect((await inbox.gauges()).counts).toMatchObject({ paused: 17, ready: 0 });
    await inbox.resume();
    expect(await inbox.take({ limit: 20, leaseMs: 60_000 })).toHaveLength(17);
  });

  it("lets no event run twice that was copied, and then worked in the embedded inbox", async () => {
    await embedded.put(["msg_1", "msg_2", "msg_3", "msg_4", "msg_5"].map((id) => event(id, id)));
    expect(await ledgerOfCopy()).toEqual({ ...nothing, read: 5, copied: 5 });
    const night = { msg_1: "done", msg_2: "dead", msg_3: "unhandled", msg_4: "retry" } as const;
    await settle(embedded, { ...night, msg_5: "given_back" });
    await embedded.put([event("msg_6", "msg_6")]);
    // msg_5 is due again at a later time
    expect(await ledgerOfCopy()).toEqual({ ...nothing, read: 6, copied: 1, updated: 5 });
    expect(await ledgerOfCopy()).toEqual({ ...nothing, read: 6, alreadyThere: 6 });
    expect((await inbox.list({}, { limit: 10 })).rows).toEqual((await embedded.list({}, { limit: 10 })).rows);
    expect(await runInPostgres()).toEqual(["msg_5", "msg_6"]);
  });

  it("lets no event run in Postgres that is done in the embedded inbox, whoever put it there", async () => {
    await worked(event("msg_1", "E1"), "done");
    await inbox.migrate();
    await inbox.put([event("msg_1", "E1"), event("msg_2", "E2")]);
    expect(await ledgerOfCopy()).toEqual({ ...nothing, read: 1, updated: 1 });
    expect(await runInPostgres()).toEqual(["msg_2"]);
    expect(await embedded.get(key("msg_1"))).toMatchObject({ state: "done" });
  });

  it("leaves what Postgres works or has worked, and names it and ends with 3 where that differs", async () => {
    const ids = ["msg_busy", "msg_dead", "msg_done", "msg_failed"];
    await embedded.put(ids.map((id) => event(id, id)));
    const states = sqliteState({ path: join(cwd, ".esim-webhooks", "events.db") });
    await states.write("rotation", { step: 1 }, undefined);
    await copy();
    const busy = await settle(inbox, { msg_dead: "dead", msg_done: "done", msg_failed: "retry" });
    const statesInPostgres = postgresState({ url: database.url });
    await statesInPostgres.write("rotation", { step: 2 }, (await statesInPostgres.read("rotation"))?.version);
    await settle(embedded, {
      msg_busy: "done",
      msg_dead: "given_back",
      msg_done: "given_back",
      msg_failed: "done",
    });

    const ran = await copy();
    expect(ran).toMatchObject({ code: 3 });
    expect(ran.stdout).toBe(`LEDGER         EVENTS
copied              0
updated             1  to what the embedded inbox says now
already there       1  left as they are
different           2  left as they are
read                4

DIFFERENT  SOURCE         EMBEDDED       POSTGRES
msg_busy   default        done           leased
msg_dead   default        ready          dead
rotation   (small state)  another value  another value
`);
    expect(ran.stderr).toContain(
      "Postgres was used as well, and keeps its own version of 2 events and 1 small state. Stop serve and work there too, and run the same command again.",
    );
    expect(ran.stderr).not.toContain("Next:");
    expect((await statesInPostgres.read("rotation"))?.value).toEqual({ step: 2 });

    await inbox.settle(busy.map((lease) => ({ ...lease, state: "retry", afterMs: 0, error: "not yet" })));
    const again = await copy("--json");
    expect(again).toMatchObject({ code: 3 });
    expect(JSON.parse(again.stdout)).toEqual({
      ...nothing,
      ...{ read: 4, updated: 1, alreadyThere: 2, differentStates: ["rotation"] },
      different: [{ ...key("msg_dead"), state: "ready", targetState: "dead" }],
    });
    expect(await runInPostgres()).toEqual([]);
    await Promise.all([states.close(), statesInPostgres.close()]);
  });

  it("refuses while events are being processed, and says how many and what to do", async () => {
    await embedded.put([event("msg_1", "E1"), event("msg_2", "E2"), event("msg_3", "E3")]);
    const leases = await embedded.take({ limit: 2, leaseMs: 3_600_000 });
    const { code, stdout, stderr } = await copy();
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toBe(
      "Error (inbox_in_use): 2 events in the embedded inbox in .esim-webhooks are being processed. Stop serve and work, which then finish them. After a crash, wait until their leases have ended.\n",
    );
    await embedded.extend(leases, 1);
    await expect
      .poll(async () => JSON.parse((await copy("--json")).stdout || "null"))
      .toEqual({ ...nothing, read: 3, copied: 3 });
    expect((await inbox.stats()).states).toMatchObject({ ready: 3, leased: 0 });
  });

  it("copies nothing from an empty inbox", async () => {
    expect(await ledgerOfCopy()).toEqual(nothing);
  });

  it("copies the file that --from names, to the Postgres that --to names", async () => {
    await embedded.put([event("msg_1", "E1")]);
    const { password } = new URL(database.url);
    const to = String(Object.assign(new URL(database.url), { password: "" }));
    const { stdout } = await cli(
      ["inbox", "copy", "--from", ".esim-webhooks/events.db", "--to", to, "--json"],
      {
        cwd,
        env: {
          ESIM_WEBHOOKS_DATA_DIR: "elsewhere",
          ...(password && { PGPASSWORD: decodeURIComponent(password) }),
        },
      },
    );
    expect(JSON.parse(stdout)).toEqual({ ...nothing, read: 1, copied: 1 });
  });

  it.each([
    [
      ["--data-dir", "elsewhere"],
      "Error (unreadable_file): There is no file elsewhere/events.db. Name the folder",
    ],
    [
      ["--from", "a.db", "--data-dir", "b"],
      "Error (invalid_usage): --from and --data-dir both name an inbox.",
    ],
    [["--to", "postgres://me:hunter2@db/x"], "Error (invalid_usage): --to contains a password"],
  ])("refuses %s with 2, and makes no file", async (args, says) => {
    const { code, stdout, stderr } = await copy(...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(says);
    expect(stderr).not.toContain("hunter2");
    expect(existsSync(join(cwd, "elsewhere"))).toBe(false);
  });

  it("ends with 1 when Postgres is away, and prints no password", async () => {
    const env = { DATABASE_URL: "postgres://me:hunter2@127.0.0.1:9/db" };
    const { code, stdout, stderr } = await cli(["inbox", "copy"], { cwd, env });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^Error \(store_unavailable\): .*ECONNREFUSED/);
    expect(stderr).not.toContain("hunter2");
  });
});

describe("inbox backup", () => {
  const backup = (...args: string[]): Promise<Ended> => cli(["inbox", "backup", ...args], { cwd });

  it("makes a file that is an inbox, while another process has the first one open", async () => {
    await embedded.put([event("msg_1", "E1")]);
    const ran = await backup("copy.db");
    expect(ran).toMatchObject({ code: 0, stderr: "" });
    expect(ran.stdout).toMatch(
      /^Backed up the embedded inbox in \.esim-webhooks to copy\.db: \d+\.?\d* KiB\.\n$/,
    );
    expect(statSync(join(cwd, "copy.db")).mode & 0o777).toBe(0o600);
    const copied = sqliteInbox({ path: join(cwd, "copy.db") });
    expect((await copied.stats()).states.ready).toBe(1);
    await copied.close();
  });

  it("copies the file of the config's own inbox, and refuses a target that has none", async () => {
    await embedded.put([event("msg_1", "E1")]);
    const path = join(cwd, ".esim-webhooks/events.db");
    const config = `import { sqliteInbox } from "@esim-webhooks/store-sqlite";
      export default { target: sqliteInbox({ path: ${JSON.stringify(path)} }) };`;
    const own = { cwd: folder({ "esim-webhooks.config.ts": config }) };
    const ran = await cli(["inbox", "backup", "copy.db"], own);
    expect(ran.stdout).toMatch(/^Backed up the target in \S+ \(the file \S+\) to copy\.db: /);
    const other = "export default { target: { put: async () => [], place: 'Postgres at localhost' } };";
    const refused = await cli(["inbox", "backup", "copy.db"], {
      cwd: folder({ "esim-webhooks.config.ts": other }),
    });
    expect(refused.code).toBe(2);
    const copied = await cli(["inbox", "copy"], {
      cwd: folder({ "esim-webhooks.config.ts": other }),
      env: { DATABASE_URL: database.url },
    });
    expect(copied.stderr).toContain("is not an SQLite file. Name the SQLite file to copy with --from.");
    expect(refused.stderr).toMatch(
      /: The target in \S+ \(Postgres at localhost\) is not an SQLite file\. Back it up/,
    );
  });

  it("takes the inbox of the test environment there", async () => {
    const { code, stderr } = await cli(["inbox", "backup", "copy.db"], {
      cwd,
      env: { ESIM_ENVIRONMENT: "test" },
    });
    expect(code).toBe(2);
    expect(stderr).toContain("There is no file .esim-webhooks/test/events.db.");
  });

  it("prints JSON for programs", async () => {
    const { stdout } = await backup("copy.db", "--json", "--from", ".esim-webhooks/events.db");
    expect(JSON.parse(stdout)).toEqual({ file: "copy.db", bytes: statSync(join(cwd, "copy.db")).size });
  });

  it("overwrites nothing, and ends with 2", async () => {
    await backup("copy.db");
    const { size } = statSync(join(cwd, "copy.db"));
    await embedded.put([event("msg_1", "E1")]);
    const { code, stderr } = await backup("copy.db");
    expect(code).toBe(2);
    expect(stderr).toContain(
      "copy.db exists, and is not overwritten. Name another file, or remove this one.",
    );
    expect(statSync(join(cwd, "copy.db")).size).toBe(size);
  });

  it("needs an inbox and a file", async () => {
    expect((await backup("copy.db", "--data-dir", "elsewhere")).stderr).toContain(
      "There is no file elsewhere/events.db.",
    );
    expect((await backup()).code).toBe(2);
    expect(existsSync(join(cwd, "copy.db"))).toBe(false);
  });
});
