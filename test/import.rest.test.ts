import {
  createReadStream,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import {
  createWorker,
  type EsimEvents,
  type Handlers,
  type InboxEntry,
  nodeHandler,
  sign,
} from "@esim-webhooks/core";
import { newSecret, sampleData } from "@esim-webhooks/core/testing";
import { type ImportReport, importDeliveries } from "@esim-webhooks/import";
import { type PostgresInbox, postgresInbox, postgresStore } from "@esim-webhooks/store-postgres";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import type { Transaction } from "kysely";
import { afterEach, describe, expect, it } from "vitest";
import { createSchema, type Shop } from "../packages/store-postgres/test/schema.ts";
import { listen } from "./listen.ts";
import { type Run, runNode } from "./run.ts";
import { startPostgres } from "./servers/index.ts";
import { postgresUrl } from "./servers/shared.ts";
import { loggerWith } from "./support/loggers.ts";

let ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.reverse()) await end();
  ends = [];
});

const none = { read: 0, stored: 0, duplicate: 0, conflict: 0, invalid: 0, filtered: 0, rejected: 0 };
const trusted = { trustUnsigned: true };

function delivery(id: string, timestamp = "2026-11-20T09:30:00.000Z"): object {
  const payload = { type: "esim.enabled", timestamp, data: sampleData("esim.enabled") };
  return {
    eventType: payload.type,
    eventId: id,
    payload,
    status: "exhausted",
    attemptNumber: 10,
    sentAt: timestamp,
  };
}

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "import-test-"));
  ends.push(() => rmSync(path, { recursive: true }));
  return path;
}

/** A dump of so many events, one in a hundred of them twice, and as many bad lines. */
function writeDump(events = 20_000): string {
  const lines = Array.from({ length: events }, (_, n) => {
    const line = JSON.stringify(delivery(`msg_${n}`));
    return n % 100 === 50 ? [line, `bad ${n}`] : n % 50 === 0 ? [line, line] : [line];
  });
  const path = join(folder(), "dump.gz");
  writeFileSync(path, gzipSync(`${lines.flat().join("\n")}\n`));
  return path;
}
const inDump = { read: 20_400, invalid: 200 };

async function openInbox(url: string = postgresUrl) {
  const schema = await createSchema(url);
  ends.push(() => schema.drop());
  const inbox = postgresInbox({ url, schema: schema.schema, timeoutMs: 20_000 });
  ends.push(() => inbox.close());
  await inbox.migrate();
  return { inbox, ...schema };
}

function startImport(
  dump: string,
  environment: Record<string, string>,
  options: object,
  script = "test/import-process.ts",
): Run {
  const all = { ...trusted, ...options };
  const run = runNode([script], {
    DUMP: dump,
    OPTIONS: JSON.stringify(all),
    ...environment,
  });
  ends.push(() => run.child.kill("SIGKILL"));
  return run;
}

async function reportOf(run: Run): Promise<ImportReport & { readonly putEvents: number }> {
  return JSON.parse((await run.line(/^report (.*)/))[1] ?? "");
}

async function statesOf(inbox: Pick<PostgresInbox, "stats">) {
  return (await inbox.stats()).states;
}

/** Works until all is done, and says how often each event ran. */
async function workOff(inbox: PostgresInbox): Promise<{ runs: Map<string, number>; replayed: Set<boolean> }> {
  const runs = new Map<string, number>();
  const replayed = new Set<boolean>();
  const handlers: Handlers<EsimEvents> = {
    "*": ({ id }, context) => {
      runs.set(id, (runs.get(id) ?? 0) + 1);
      replayed.add(context.replayed);
    },
  };
  const stopping = new AbortController();
  const running = createWorker(inbox, handlers, { pollMs: 20 }).run({ signal: stopping.signal });
  const left = async () => (await statesOf(inbox)).ready + (await statesOf(inbox)).leased;
  await expect.poll(left, { timeout: 120_000 }).toBe(0);
  stopping.abort();
  await running;
  return { runs, replayed };
}

const inboxes = [
  ["Postgres", async () => (await openInbox()).inbox],
  [
    "SQLite",
    async () => {
      const inbox = sqliteInbox({ path: join(folder(), "events.db") });
      ends.push(() => inbox.close());
      return inbox;
    },
  ],
] as const;

describe.each(inboxes)("an import into %s", (_, open) => {
  it("stores each event once, with what the dump says of it, and a worker tells its handler that it is replayed", async () => {
    const inbox = (await open()) as PostgresInbox;
    const dump = writeDump(2000);
    const first = await importDeliveries(createReadStream(dump), inbox, trusted);
    expect(first.ledger).toEqual({ ...none, read: 2040, stored: 2000, duplicate: 20, invalid: 20 });
    expect(first.forms).toEqual(["gzip", "ndjson"]);
    const row = await inbox.get({ source: "default", id: "msg_7" });
    const said = {
      eventType: "esim.enabled",
      status: "exhausted",
      attemptNumber: 10,
      sentAt: "2026-11-20T09:30:00.000Z",
    };
    expect(row?.replay).toEqual({ run: first.run, rebuilt: true, delivery: said });
    const second = await importDeliveries(createReadStream(dump), inbox, trusted);
    expect(second.ledger).toEqual({ ...none, read: 2040, duplicate: 2020, invalid: 20 });
    const { runs, replayed } = await workOff(inbox);
    expect(runs.size).toBe(2000);
    expect(new Set(runs.values())).toEqual(new Set([1]));
    expect(replayed).toEqual(new Set([true]));
  });

  it("runs nothing that is done, and all of it once more with force, also when that goes on after an interruption", async () => {
    const inbox = (await open()) as PostgresInbox;
    const dump = join(folder(), "dump.ndjson");
    writeFileSync(
      dump,
      Array.from({ length: 3500 }, (_, n) => `${JSON.stringify(delivery(`msg_${n % 3000}`))}\n`).join(""),
    );
    await importDeliveries(createReadStream(dump), inbox, trusted);
    await workOff(inbox);
    const again = await importDeliveries(createReadStream(dump), inbox, trusted);
    expect(again.ledger).toEqual({ ...none, read: 3500, duplicate: 3500 });
    expect((await workOff(inbox)).runs.size).toBe(0);

    const checkpointFile = join(folder(), "checkpoint");
    const logged: unknown[] = [];
    const logger = loggerWith({ info: (fields) => void logged.push(fields) });
    const options = { ...trusted, checkpointFile, force: true, logger };
    let puts = 0;
    const put = async (entries: readonly InboxEntry[]) => {
      if (++puts === 2) throw new Error("gone");
      return inbox.put(entries);
    };
    await expect(importDeliveries(createReadStream(dump), { ...inbox, put }, options)).rejects.toThrow(
      /Run it again/,
    );
    const { runs: before } = await workOff(inbox);
    const forced = await importDeliveries(createReadStream(dump), inbox, options);
    const { runs: after } = await workOff(inbox);
    expect(new Set([...before.keys(), ...after.keys()]).size).toBe(3000);
    expect(before.size + after.size).toBe(3000); // none in both
    expect(new Set([...before.values(), ...after.values()])).toEqual(new Set([1]));
    expect(forced).toMatchObject({ interrupted: false, ledger: { read: 3500, conflict: 0 } });
    expect(forced.ledger.stored).toBe(forced.forced);
    expect(logged).toHaveLength(3000);
    expect(logged).toContainEqual({ id: "msg_0", type: "esim.enabled", source: "default", run: forced.run });
  });

  it("takes what was delivered before as a duplicate, though the bytes of a dump are others", async () => {
    const inbox = (await open()) as PostgresInbox;
    const secret = newSecret();
    const handler = nodeHandler(inbox, { secret });
    const receiver = await listen(handler, "/", handler.close);
    ends.push(() => receiver.close());
    const record = delivery("msg_1") as { readonly payload: object };
    const body = JSON.stringify(record.payload, null, 1); // other blanks than the dump's
    const headers = { ...sign({ id: "msg_1", body }, secret) };
    expect((await fetch(receiver.url, { method: "POST", headers, body })).status).toBe(202);
    const captured = { headers, body, receivedAt: new Date().toISOString() };
    const dump = [record, captured].map((one) => `${JSON.stringify(one)}\n`);
    const path = join(folder(), "dump");
    writeFileSync(path, dump.join(""));
    const report = await importDeliveries(createReadStream(path), inbox, { ...trusted, secret });
    expect(report.ledger).toEqual({ ...none, read: 2, duplicate: 2 });
  });
});

describe("an import into Postgres", () => {
  it("is complete after any number of SIGKILLs: each event once, a ledger that balances, and no record put after it was settled", async () => {
    const { inbox, schema } = await openInbox();
    const dump = writeDump();
    const at = folder();
    const options = { checkpointFile: join(at, "checkpoint"), rejectsFile: join(at, "rejects") };
    const environment = { DATABASE_URL: postgresUrl, SCHEMA: schema, PAUSE_MS: "400" };
    for (let kills = 0; kills < 4; kills++) {
      const kill = { KILL_AT: "1", KILL_AFTER_MS: `${Math.random() * 600}` };
      const { child, ended } = startImport(dump, { ...environment, ...kill }, options);
      await ended;
      expect(child.signalCode).toBe("SIGKILL");
    }
    const { child, ended } = startImport(dump, { ...environment, PAUSE_MS: "1000" }, options);
    const notedIn = (file: string) => JSON.parse(readFileSync(file, "utf8")).tally.ledger;
    await expect.poll(() => notedIn(options.checkpointFile).read).toBeGreaterThan(0);
    child.kill("SIGKILL");
    await ended;
    const noted = notedIn(options.checkpointFile);
    const report = await reportOf(startImport(dump, { ...environment, PAUSE_MS: "0" }, options));
    expect(report).toMatchObject({
      interrupted: false,
      damage: null,
      resumedAfter: noted.read,
      ledger: inDump,
    });
    const { stored, duplicate } = report.ledger;
    expect(stored + duplicate).toBe(20_200);
    expect(report.putEvents).toBe(20_200 - noted.stored - noted.duplicate);
    expect(await statesOf(inbox)).toMatchObject({ ready: 20_000, done: 0, dead: 0 });
    const rejects = readFileSync(options.rejectsFile, "utf8").trim().split("\n");
    expect(new Set(rejects.map((line) => JSON.parse(line).position.record)).size).toBe(200);
    expect(rejects).toHaveLength(200);
    expect(existsSync(options.checkpointFile)).toBe(false);
  });

  it("is complete after the database was killed in the middle, and away for a while", async () => {
    const server = await startPostgres();
    ends.push(() => server.close());
    const inbox = postgresInbox({ url: server.url, timeoutMs: 20_000 });
    ends.push(() => inbox.close());
    await inbox.migrate();
    const dump = writeDump();
    const checkpointFile = join(folder(), "checkpoint");
    let puts = 0;
    const put = async (entries: readonly InboxEntry[]) => {
      if (++puts === 8) await server.kill();
      return inbox.put(entries);
    };
    const importing = importDeliveries(createReadStream(dump), { put }, { ...trusted, checkpointFile });
    await expect(importing).rejects.toMatchObject({ code: "store_unavailable" });
    const stillAway = importDeliveries(createReadStream(dump), inbox, { ...trusted, checkpointFile });
    await expect(stillAway).rejects.toMatchObject({ code: "store_unavailable" });
    await server.start();
    await expect
      .poll(() =>
        inbox.ready().then(
          () => "ready",
          () => "away",
        ),
      )
      .toBe("ready");
    const report = await importDeliveries(createReadStream(dump), inbox, { ...trusted, checkpointFile });
    expect(report).toMatchObject({ ledger: inDump, interrupted: false });
    expect(report.resumedAfter).toBeGreaterThan(0);
    expect(await statesOf(inbox)).toMatchObject({ ready: 20_000 });
  });

  it.each([false, true])(
    "inline is complete after SIGKILLs, with each effect once, with force: %s",
    async (force) => {
      const { schema, orders } = await openInbox();
      const dump = join(folder(), "dump.ndjson");
      writeFileSync(
        dump,
        Array.from({ length: 100 }, (_, n) => `${JSON.stringify(delivery(`msg_${n}`))}\n`).join(""),
      );
      const options = { checkpointFile: join(folder(), "checkpoint"), concurrency: 4, force };
      const environment = { DATABASE_URL: postgresUrl, SCHEMA: schema };
      const start = (kill = {}) =>
        startImport(dump, { ...environment, ...kill }, options, "test/import-inline-process.ts");
      for (let kills = 0; kills < 3; kills++) {
        const { child, ended } = start({ KILL_AFTER_MS: `${Math.random() * 100}` });
        await ended;
        expect(child.signalCode).toBe("SIGKILL");
      }
      const report = await reportOf(start());
      expect(report).toMatchObject({ interrupted: false, forced: 0, ledger: { read: 100, rejected: 0 } });
      expect((await orders()).length).toBe(100);
      expect(new Set(await orders()).size).toBe(100);
    },
  );

  it("inline is complete after any number of interruptions, with each effect once where the store is transactional", async () => {
    const { schema, orders } = await openInbox();
    const url = postgresUrl;
    const store = postgresStore<Shop>({ url, schema });
    ends.push(() => store.close());
    const dump = join(folder(), "dump.ndjson");
    writeFileSync(
      dump,
      Array.from({ length: 300 }, (_, n) => `${JSON.stringify(delivery(`msg_${n}`))}\n`).join(""),
    );
    const checkpointFile = join(folder(), "checkpoint");
    for (;;) {
      const stopping = new AbortController();
      let left = 40;
      const handlers: Handlers<EsimEvents, Transaction<Shop>> = {
        "esim.enabled": async ({ id, data: { esimReference: esim } }, { tx }) => {
          await tx.withSchema(schema).insertInto("order").values({ event: id, esim }).execute();
          if (--left === 0) stopping.abort();
        },
      };
      const options = { ...trusted, store, checkpointFile, signal: stopping.signal, concurrency: 4 };
      const report = await importDeliveries<EsimEvents, Transaction<Shop>>(
        createReadStream(dump),
        handlers,
        options,
      );
      expect(report.ledger.stored + report.ledger.duplicate).toBe(report.ledger.read);
      if (!report.interrupted) break;
    }
    expect((await orders()).length).toBe(300);
    expect(new Set(await orders()).size).toBe(300);
  });
});

describe("oldestFirst", () => {
  it.runIf(process.platform === "linux")(
    "sorts through a file of mode 0600, and leaves none behind, after SIGKILL neither",
    async () => {
      const { schema } = await openInbox();
      const path = join(folder(), "dump.ndjson");
      const filler = "x".repeat(20_000);
      const lines = Array.from({ length: 4000 }, (_, n) =>
        JSON.stringify({ ...delivery(`msg_${n}`), filler }),
      );
      writeFileSync(path, `${lines.join("\n")}\n`); // some 80 MB: more than is sorted in memory
      const temporary = folder();
      const environment = {
        DATABASE_URL: postgresUrl,
        SCHEMA: schema,
        PAUSE_MS: "600000", // it is killed before its first put
        TMPDIR: temporary,
      };
      const run = startImport(path, environment, { oldestFirst: true });
      const descriptors = `/proc/${run.child.pid}/fd`;
      const modes = () =>
        readdirSync(descriptors)
          .filter((name) => readlinkSync(join(descriptors, name)).startsWith(temporary))
          .map((name) => statSync(join(descriptors, name)).mode & 0o777);
      await expect.poll(modes, { timeout: 120_000 }).toEqual([0o600]);
      expect(readdirSync(temporary)).toEqual([]); // it is unlinked
      run.child.kill("SIGKILL");
      await run.ended;
      expect(readdirSync(temporary)).toEqual([]);
    },
  );
});
