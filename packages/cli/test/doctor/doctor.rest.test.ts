import { randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { InboxGauges } from "@esim-webhooks/core";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import { Redis } from "ioredis";
import { describe, expect, it } from "vitest";
import { entry } from "../../../../test/inbox-entry.ts";
import { privateRedis } from "../../../../test/servers/index.ts";
import { postgresUrl, redisUrl } from "../../../../test/servers/shared.ts";
import { mountDisk, unmountDisk } from "../../../../test/small-disk.ts";
import { checkPauses, checkWaiting, checkWorkers } from "../../src/doctor/inbox-checks.ts";
import { checkNode } from "../../src/doctor/set-up-checks.ts";
import { checkFile } from "../../src/doctor/store-checks.ts";
import { cli, folder, jsonLines, secret } from "../cli.ts";
import { storeAt } from "../stored.ts";

interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly warning?: true;
  readonly message: string;
  readonly code?: string;
}

async function examine(options: Parameters<typeof cli>[1]) {
  const ended = await cli(["doctor", "--json"], options);
  const [report] = jsonLines(ended) as [{ ok: boolean; checks: Check[] }];
  return { ...ended, ...report, of: Object.fromEntries(report.checks.map((check) => [check.name, check])) };
}

/** The URL with a user; a server without users takes any password of `default`. */
function as(url: string): string {
  return url.replace("//", "//default:secretly@");
}

function counting(
  counts: Partial<InboxGauges["counts"]>,
  oldestReadyMs: number,
  capped: InboxGauges["capped"] = [],
) {
  const none = { ready: 0, waiting: 0, blocked: 0, paused: 0, leased: 0, unhandled: 0, dead: 0 };
  return {
    gauges: async () => ({
      counts: { ...none, ...counts },
      capped,
      blockedBy: { failing: counts.blocked ?? 0, paused: 0, dead: 0 },
      oldestReadyMs,
      lastReceivedAt: null,
    }),
  };
}

describe("doctor", () => {
  it("finds everything ok on a fresh machine, shows the secret's fingerprint, and creates nothing", async () => {
    const { code, stdout, stderr } = await cli(["doctor"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout.split("\n").filter((line) => line !== "" && !line.startsWith("✔ ok  "))).toEqual([]);
    expect(stdout).toMatch(/secret {4}key:[0-9a-f]{8}\n/);
    expect(stdout).toContain("an embedded inbox; its first use will create it in .esim-webhooks");
    expect(stdout).not.toContain(secret);
    expect(stdout).toContain(
      "api       not looked at: with ESIM_API_URL, ESIM_CLIENT_ID and ESIM_CLIENT_SECRET, ",
    );
    expect((await examine({})).of["store"]?.message).toContain("will create it");
  });

  it("fails when the folder was used and its database is gone", async () => {
    const cwd = folder();
    expect(await cli(["migrate"], { cwd })).toMatchObject({ code: 0 });
    rmSync(join(cwd, ".esim-webhooks/events.db"));
    const { code, stdout } = await cli(["doctor"], { cwd });
    expect(code).toBe(3);
    expect(stdout).toMatch(
      /store +\.esim-webhooks was used, and has no events\.db: the file was removed, .* "We lost the database"\.$/m,
    );
  });

  it("reports a missing secret, and a malformed one", async () => {
    const none = await examine({ env: { ESIM_WEBHOOK_SECRET: "" } });
    expect(none.code).toBe(3);
    expect(none.of["secret"]).toMatchObject({ ok: false, code: "missing_secret" });
    const wrong = await cli(["doctor"], { env: { ESIM_WEBHOOK_SECRET: "whsec_short" } });
    expect(wrong.code).toBe(3);
    expect(wrong.stdout).toMatch(/^✘ {5}secret {4}ESIM_WEBHOOK_SECRET: A signing secret /m);
  });

  it("reports missing migrations, and a correct clock, without changing anything", async () => {
    const schema = `cli_${randomUUID().replaceAll("-", "").slice(0, 12)}`;
    const url = postgresUrl;
    const config = (more: string) => `import { postgresInbox } from "@esim-webhooks/store-postgres";
      const target = postgresInbox({ url: ${JSON.stringify(url)}, schema: "${schema}" });
      ${more}
      export default { target };`;
    const before = folder({ "esim-webhooks.config.ts": config("") });
    for (const _ of ["once", "and again"]) {
      const missing = await examine({ cwd: before });
      expect(missing.code).toBe(3);
      expect(missing.of["store"]).toMatchObject({ ok: false, code: "migration_missing" });
      expect(missing.of["clock"]).toMatchObject({
        ok: true,
        message: expect.stringMatching(/^\d+ ms from the database's clock$/),
      });
      expect(missing.stderr).toBe("");
    }
    const after = folder({ "esim-webhooks.config.ts": config("await target.migrate();") });
    const well = await examine({ cwd: after });
    expect({ code: well.code, ok: well.ok }).toEqual({ code: 0, ok: true });
    expect(Object.keys(well.of)).toEqual([
      "node",
      "config",
      "secret",
      "handlers",
      "store",
      "clock",
      "waiting",
      "paused",
      "workers",
      "dead",
      "passes",
      "silence",
      "drift",
      "api",
    ]);
  });

  it("reports a clock that is off by more than five seconds", async () => {
    const config = `export default { target: { put() {}, async ready() {}, async now() { return new Date(Date.now() - 6000); } } };`;
    const { code, of } = await examine({ cwd: folder({ "esim-webhooks.config.ts": config }) });
    expect(code).toBe(3);
    expect(of["clock"]).toMatchObject({
      ok: false,
      message: expect.stringMatching(/^6\.0 s from the database's clock\. Synchronise/),
    });
  });

  it("reports an unavailable database without its password", async () => {
    const { code, of, stdout } = await examine({
      env: { DATABASE_URL: "postgres://user:hidden@127.0.0.1:1/shop" },
    });
    expect(code).toBe(3);
    expect(of["store"]).toMatchObject({
      ok: false,
      code: "store_unavailable",
      message: expect.stringContaining("ECONNREFUSED"),
    });
    expect(stdout).not.toContain("hidden");
    expect(of["drift"]).toBeUndefined(); // it would say the same again
  });

  it("does not call the embedded inbox durable on a disk with hardly any room, and reports it where nothing can be stored", async (context) => {
    const cwd = folder();
    const data = join(cwd, ".esim-webhooks");
    mkdirSync(data);
    const refused = mountDisk(data, "8m");
    context.skip(refused !== undefined, refused);
    context.onTestFinished(() => unmountDisk(data));
    const inbox = sqliteInbox({ path: join(data, "events.db") });
    await inbox.ready();
    await inbox.close();
    const { of: nearly } = await examine({ cwd });
    expect(nearly["folder"]).toMatchObject({ ok: false });
    expect(nearly["store"]).toMatchObject({
      ok: true,
      message: expect.stringMatching(/; it can store events now, but see folder$/),
    });
    expect(() => writeFileSync(join(data, "other"), new Uint8Array(8 * 1024 * 1024))).toThrow(/ENOSPC/);
    const { of: full } = await examine({ cwd });
    expect(full["folder"]).toMatchObject({ ok: false });
    expect(full["store"]).toMatchObject({ ok: false, code: "store_full" });
  });

  it("reports a Redis that may evict keys", async () => {
    const server = await privateRedis();
    const admin = new Redis(server.url);
    await admin.config("SET", "maxmemory-policy", "allkeys-lru");
    const config = `import { redisStore } from "@esim-webhooks/store-redis";
      export default { handlers: { "*": () => {} }, store: redisStore(${JSON.stringify(server.url)}) };`;
    const { code, of, stderr } = await examine({ cwd: folder({ "esim-webhooks.config.ts": config }) });
    admin.disconnect();
    await server.close();
    expect({ code, stderr }).toEqual({ code: 3, stderr: "" });
    expect(of["store"]).toMatchObject({
      ok: false,
      code: "evicting_store",
      message: expect.stringMatching(
        /Set maxmemory-policy to noeviction.* Looked at: Redis at [\w.]+:\d+, keys esim-webhooks:\*\.$/s,
      ),
    });
  });

  it("reports a Redis where nothing can be marked, with what to do", async () => {
    const server = await privateRedis("--maxmemory", "1");
    const config = `import { redisStore } from "@esim-webhooks/store-redis";
      export default { handlers: { "*": () => {} }, store: redisStore(${JSON.stringify(server.url)}) };`;
    const { code, of } = await examine({ cwd: folder({ "esim-webhooks.config.ts": config }) });
    await server.close();
    expect(code).toBe(3);
    expect(of["store"]).toMatchObject({
      ok: false,
      code: "store_full",
      message: expect.stringContaining("Raise maxmemory"),
    });
  });

  it("reports a Redis where a bullmqInbox can store nothing, with what to do", async () => {
    const server = await privateRedis("--min-replicas-to-write", "1");
    const config = `import { bullmqInbox } from "@esim-webhooks/queue-bullmq";
      export default { target: bullmqInbox({ connection: ${JSON.stringify(server.url)} }) };`;
    const { code, of } = await examine({ cwd: folder({ "esim-webhooks.config.ts": config }) });
    await server.close();
    expect(code).toBe(3);
    expect(of["store"]).toMatchObject({
      ok: false,
      code: "missing_replicas",
      message: expect.stringMatching(
        /lower min-replicas-to-write\..* Looked at: the queue esim-webhooks on /,
      ),
    });
  });

  it("does not call a bullmqInbox durable on a Redis without an append-only file", async () => {
    const server = await privateRedis("--appendonly", "no");
    const config = `import { bullmqInbox } from "@esim-webhooks/queue-bullmq";
      export default { target: bullmqInbox({ connection: ${JSON.stringify(server.url)} }) };`;
    const { code, of } = await examine({ cwd: folder({ "esim-webhooks.config.ts": config }) });
    await server.close();
    expect(code).toBe(3);
    expect(of["store"]).toMatchObject({ ok: true, message: expect.stringContaining("; not durable: ") });
    expect(of["persistence_off"]).toMatchObject({
      ok: false,
      message: expect.stringContaining("appendonly to yes"),
    });
  });

  it.each<[string, string, () => string, RegExp]>([
    [
      "a bullmqInbox",
      "queue-bullmq",
      () => `target: bullmqInbox({ connection: "${as(redisUrl)}/2", name: "mine" })`,
      /\(the queue mine on Redis at [\w.]+:\d+\/2\); durable/,
    ],
    [
      "a bullmqInbox on a queue with a prefix",
      "queue-bullmq",
      () => `target: bullmqInbox({ connection: "${as(redisUrl)}", prefix: "{other}" })`,
      /\(the queue esim-webhooks with the prefix \{other\} on Redis at [\w.]+:\d+\); durable/,
    ],
    [
      "a redisStore",
      "store-redis",
      () => `store: redisStore("${as(redisUrl)}", { keyPrefix: "mine:" })`,
      /kept in its store \(Redis at [\w.]+:\d+, keys mine:\*\); durable/,
    ],
    [
      "a postgresInbox",
      "store-postgres",
      () => `target: postgresInbox({ url: "${postgresUrl}", schema: "nowhere" })`,
      /\(Postgres at \S+\/\w+, schema nowhere\) is not set up/,
    ],
    [
      "a sqliteInbox",
      "store-sqlite",
      () => `target: sqliteInbox({ path: import.meta.dirname + "/there/mine.db" })`,
      /\(the file \/\S+\/there\/mine\.db\); durable/,
    ],
  ])(
    "says at which server, and where there, it looked for %s, without user and password",
    async (_, name, option, place) => {
      const text = option();
      const [, made = ""] = /: (\w+)\(/.exec(text) ?? [];
      const config = `import { ${made} } from "@esim-webhooks/${name}";
      export default { handlers: { "*": () => {} }, ${text} };`;
      const { of } = await examine({ cwd: folder({ "esim-webhooks.config.ts": config }) });
      const message = of["store"]?.message ?? "";
      expect(message).toMatch(place);
      expect(message).not.toMatch(/default:|secretly|postgres@/);
    },
  );

  it("says where it looked when nothing listens there, and when the server is refused", async () => {
    const away = `import { bullmqInbox } from "@esim-webhooks/queue-bullmq";
      export default { target: bullmqInbox({ connection: "redis://:secretly@127.0.0.1:1", name: "mine" }) };`;
    const { of } = await examine({ cwd: folder({ "esim-webhooks.config.ts": away }) });
    expect(of["store"]).toMatchObject({ ok: false, code: "store_unavailable" });
    expect(of["store"]?.message).toMatch(
      /^The target in \S+ \(the queue mine on Redis at 127\.0\.0\.1:1\) cannot be reached/,
    );
    expect(of["store"]?.message).not.toContain("secretly");
  });

  it("reports a short retention", async () => {
    const url = redisUrl;
    const config = `import { redisStore } from "@esim-webhooks/store-redis";
      export default { handlers: { "*": () => {} }, store: redisStore(${JSON.stringify(url)}, { retentionMs: 86_400_000 }) };`;
    const cwd = folder({ "esim-webhooks.config.ts": config });
    const short = await examine({ cwd });
    expect(short.code).toBe(3);
    expect(short.of["store"]).toMatchObject({ ok: true });
    expect(short.of["short_retention"]).toMatchObject({
      ok: false,
      message: expect.stringContaining("Raise retentionMs"),
    });
  });

  it("reports a config that cannot be loaded, and handlers for unknown event types", async () => {
    const broken = await examine({ cwd: folder({ "esim-webhooks.config.ts": "export default {" }) });
    expect(broken.code).toBe(3);
    expect(broken.of["config"]).toMatchObject({ ok: false, code: "invalid_config" });
    const config = 'export default { handlers: { "esim.fautled": () => {} } };';
    const misspelt = await examine({ cwd: folder({ "esim-webhooks.config.ts": config }) });
    expect(misspelt.of["handlers"]).toMatchObject({ ok: false, code: "unknown_event_type" });
  });

  it("reports a misspelt option of the receiver, and names the file", async () => {
    const config = 'export default { handlers: { "*": () => {} }, receiver: { toleranceSecond: 600 } };';
    const { code, of } = await examine({ cwd: folder({ "esim-webhooks.config.ts": config }) });
    expect(code).toBe(3);
    expect(of["receiver"]).toMatchObject({
      ok: false,
      code: "invalid_option",
      message: expect.stringMatching(
        /config\.ts: there is no option "toleranceSecond"\. Did you mean "toleranceSeconds"\?$/,
      ),
    });
  });

  it("reports a misspelt option of the worker, and names the file", async () => {
    const config = 'export default { handlers: { "*": () => {} }, worker: { concurency: 3 } };';
    const { code, of } = await examine({ cwd: folder({ "esim-webhooks.config.ts": config }) });
    expect(code).toBe(3);
    expect(of["worker"]).toMatchObject({
      ok: false,
      code: "invalid_option",
      message: expect.stringMatching(
        /esim-webhooks\.config\.ts: there is no option "concurency"\. Did you mean "concurrency"\?$/,
      ),
    });
  });

  it("checks that files can be made in the folder, and leaves none there", async () => {
    const cwd = folder();
    const before = readdirSync(cwd);
    const well = await examine({ cwd });
    expect(well.of["folder"]).toMatchObject({
      ok: true,
      message: expect.stringMatching(/^\.esim-webhooks; .+ free$/),
    });
    expect(readdirSync(cwd)).toEqual(before);
    const wrong = await cli(["doctor", "--data-dir", "/proc/esim-webhooks"]);
    expect(wrong.code).toBe(3);
    expect(wrong.stdout).toMatch(
      /^✘ {5}folder {4}No file can be made in \/proc\/esim-webhooks \(E\w+\)\. Give this user/m,
    );
  });

  it("does not promise to create an inbox in a folder that cannot be made", async () => {
    const cwd = folder({ file: "" });
    const { code, of } = await examine({ cwd, env: { ESIM_WEBHOOKS_DATA_DIR: join(cwd, "file/x") } });
    expect(code).not.toBe(0);
    expect(of["folder"]).toMatchObject({ ok: false });
    expect(of["store"]).toBeUndefined();
  });

  it("says what waits unprocessed, and fails when it has waited for too long", async () => {
    const cwd = folder();
    await storeAt(cwd, [entry("msg_1")]);
    const fresh = await examine({ cwd });
    expect(fresh.of["waiting"]).toMatchObject({
      ok: true,
      message: expect.stringMatching(/^1 event waits; the oldest has been due for (?:\d+m )?\d+s$/),
    });
    const config = `import { memoryStore } from "@esim-webhooks/core";
      export default { handlers: { "*": () => {} }, store: memoryStore() };`;
    writeFileSync(join(cwd, "esim-webhooks.config.ts"), config);
    expect((await examine({ cwd })).of["waiting"]?.message).toContain("1 event waits");
    const old = { ready: 2, waiting: 1, blocked: 5, paused: 4, unhandled: 3, dead: 1 };
    expect(await checkWaiting(counting(old, 3_600_000), false)).toEqual({
      name: "waiting",
      ok: false,
      code: "events_wait",
      message:
        "12 events wait; 1 of them for another attempt (esim-webhooks inbox errors); 5 behind others of their lanes; 4 paused; the oldest has been due for 1h 00m; " +
        "3 unhandled: once there are handlers, esim-webhooks inbox retry --status unhandled. " +
        "Add handlers to a config file, and run esim-webhooks work.",
    });
    const full = { ready: 1001, leased: 20, unhandled: 1001 };
    const many = await checkWaiting(counting(full, 1000, ["ready", "unhandled"]), true);
    expect(many.message).toMatch(/^more than 1,000 events wait; .*; more than 1,000 unhandled: /);
  });

  it("fails on events that have waited for too long, also while another type is paused", async () => {
    expect(await checkWaiting(counting({ ready: 2, paused: 1 }, 3_600_000), true)).toMatchObject({
      ok: false,
      code: "events_wait",
      message: expect.stringMatching(
        /^3 events wait; 1 paused; the oldest has been due for 1h 00m\. Check the line `workers`\./,
      ),
    });
  });

  it("shows pauses, and warns of one that is older than a day, with the command that ends it", async () => {
    const cwd = folder();
    await storeAt(cwd, [entry("msg_1", { type: "esim.faulted" })]);
    expect((await examine({ cwd })).of["paused"]?.message).toBe("nothing is paused");
    const pausing = ["inbox", "pause", "--types", "esim.faulted", "--reason", "CRM is down", "--by", "ops"];
    expect(await cli(pausing, { cwd })).toMatchObject({ code: 0 });
    const { code, of } = await examine({ cwd });
    expect(code).toBe(0);
    expect(of["paused"]?.message).toMatch(
      /^esim\.faulted since \S+ \S+Z \(\S+( ago)?\), until it is resumed, by ops: CRM is down$/,
    );
    const now = Date.now();
    const old = {
      type: "esim.faulted",
      since: new Date(now - 25 * 3_600_000),
      until: null,
      by: null,
      reason: "x",
    };
    const recent = { ...old, type: "esim.enabled", since: new Date(now - 3_600_000) };
    expect(checkPauses([old, recent], now)).toMatchObject({
      ok: true,
      warning: true,
      message: expect.stringMatching(
        /A pause has lasted for more than a day\. If the reason is gone: esim-webhooks inbox resume --types esim\.faulted$/,
      ),
    });
  });

  it("lists the workers, and warns when events are due for long and none runs, or none takes them", () => {
    const now = Date.now();
    const worker = {
      id: "web-1:7:9f3c01",
      host: "web-1",
      pid: 7,
      version: "0.1.0",
      startedAt: new Date(now),
      concurrency: 20,
      running: 3,
      lastTakeAt: new Date(now - 1000),
      seenAt: new Date(now),
    };
    const hung = { ...worker, running: 20, lastTakeAt: new Date(now - 300_000) };
    const onBullmq = { ...worker, running: null, lastTakeAt: null };
    const long = { oldestReadyMs: 61_000 };
    const none = { oldestReadyMs: null };
    expect(checkWorkers([], none, now).message).toBe("none has reported in the last 30 s");
    expect(checkWorkers([worker, hung], none, now)).toEqual({
      name: "workers",
      ok: true,
      message: "2 workers are alive; 23 of 40 slots in use",
    });
    expect(checkWorkers([], long, now)).toMatchObject({
      ok: true,
      warning: true,
      message: expect.stringMatching(/^No worker has reported in the last 30 s, and events are due\. Start /),
    });
    expect(checkWorkers([hung], long, now)).toMatchObject({
      ok: true,
      warning: true,
      message: expect.stringMatching(
        /^1 worker is alive; 20 of 20 slots in use; no worker has polled the inbox for a minute/,
      ),
    });
    expect(checkWorkers([hung, worker], long, now)).not.toHaveProperty("warning");
    expect(checkWorkers([onBullmq], long, now)).toEqual({
      name: "workers",
      ok: true,
      message: "1 worker is alive",
    });
  });

  it("fails while an event is dead, until it is redriven or discarded", async () => {
    const cwd = folder();
    const inbox = sqliteInbox({ path: join(cwd, ".esim-webhooks/events.db") });
    await inbox.put([entry("evt_1", { type: "esim.faulted" }), entry("evt_2", { type: "esim.faulted" })]);
    const taken = await inbox.take({ limit: 2, leaseMs: 60_000 });
    const report = { durationMs: 1, error: "no luck", worker: "w" };
    const reasons = ["failed", "timed_out"] as const;
    await inbox.settle(
      taken.map((one, index) => ({
        ...one,
        state: "dead",
        error: "no luck",
        report: { ...report, reason: reasons[index] ?? "invalid" },
      })),
    );
    await inbox.close();

    const dead = await examine({ cwd });
    expect(dead).toMatchObject({ code: 3, of: { waiting: { ok: true, message: "no event waits" } } });
    expect(dead.of["dead"]).toEqual({
      name: "dead",
      ok: false,
      code: "events_dead",
      message:
        "2 events are dead and not tried again (failed, timed_out). See why: esim-webhooks inbox errors. " +
        "Fix the cause and retry them, esim-webhooks inbox retry; or delete them, esim-webhooks inbox discard.",
    });
    expect((await cli(["inbox", "retry", "--id", "evt_1", "--yes"], { cwd })).code).toBe(0);
    expect((await examine({ cwd })).of["dead"]?.message).toMatch(/^1 event is dead/);
    expect((await cli(["inbox", "discard", "--id", "evt_2", "--yes"], { cwd })).code).toBe(0);
    const after = await examine({ cwd });
    expect(after).toMatchObject({ code: 0, of: { dead: { ok: true, message: "no event is dead" } } });
  });

  it("finds damage in an embedded inbox that opens well, and says how to mend it", async () => {
    const cwd = folder();
    const path = join(cwd, ".esim-webhooks/events.db");
    const inbox = sqliteInbox({ path });
    await inbox.put(Array.from({ length: 200 }, (_, n) => entry(`msg_${n}`)));
    await inbox.close();
    expect((await examine({ cwd })).of["file"]).toMatchObject({
      ok: true,
      message: expect.stringMatching(/^no damage in the \d.* of \.esim-webhooks\/events\.db$/),
    });
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.fill(0xff, bytes.length - 3 * 4096)); // the last pages, which have events
    const { code, of } = await examine({ cwd });
    expect(code).toBe(3);
    expect(of["store"]).toMatchObject({ ok: true });
    expect(of["file"]).toMatchObject({
      ok: false,
      code: "database_corrupt",
      message: expect.stringMatching(
        /is damaged: (?:(?!\. ).)*\. Stop what uses it, keep a copy, and restore a backup: docs\/runbook\.md of esim-webhooks says how/s,
      ),
    });
    expect(await checkFile(path, path, 1000)).toMatchObject({
      ok: true,
      message: expect.stringMatching(/was not searched for damage, since it has .*: sqlite3 .*quick_check/),
    });
  });

  it("reports a Node.js that is too old for config files in TypeScript", () => {
    expect(checkNode("v22.17.1").ok).toBe(false);
    expect(checkNode("v22.18.0").ok).toBe(true);
    expect(checkNode("v24.0.0").ok).toBe(true);
  });
});

describe("the silence of an inbox", () => {
  it("is a warning a day after the last delivery, or after --silence, and no failure", async () => {
    const cwd = folder();
    await storeAt(cwd, [entry("evt_1", { receivedAt: new Date(Date.now() - 25 * 3_600_000) })]);
    const { code, ok, of } = await examine({ cwd });
    expect({ code, ok }).toEqual({ code: 0, ok: true });
    expect(of["silence"]).toMatchObject({
      ok: true,
      warning: true,
      message: expect.stringMatching(
        /^The last delivery was received at \S+ \S+Z, more than 1d 0h ago\. Check /,
      ),
    });
    expect((await cli(["doctor"], { cwd })).stdout).toMatch(/^! {4} silence {3}The last delivery /m);
    expect((await cli(["doctor", "--silence", "2d"], { cwd })).stdout).toMatch(
      /ok {2}silence {3}the last delivery was received 1d ago$/m,
    );
  });

  it("does not concern passes of reconcile, which are a warning a day after the last pass that completed", async () => {
    const cwd = folder();
    await storeAt(cwd, []);
    expect((await examine({ cwd })).of["passes"]?.message).toBe("no pass is noted in this inbox");
    const note = async (run: string, hoursAgo: number) => {
      const endedAt = new Date(Date.now() - hoursAgo * 3_600_000);
      const inbox = sqliteInbox({ path: join(cwd, ".esim-webhooks/events.db") });
      const times = { startedAt: endedAt, endedAt };
      await inbox.noteRun({
        kind: "reconcile",
        run,
        source: "eu",
        ...times,
        outcome: "complete",
        ledger: {},
      });
      await inbox.close();
    };
    await note("run_1", 30);
    const { code, of } = await examine({ cwd });
    expect(code).toBe(0);
    expect(of["passes"]).toEqual({
      name: "passes",
      ok: true,
      warning: true,
      code: "reconcile_not_run",
      message: expect.stringMatching(
        /^eu: No pass of reconcile has completed since \S+Z\. Run esim-webhooks reconcile, /,
      ),
    });
    await note("run_2", 2);
    expect((await examine({ cwd })).of["passes"]?.message).toBe("the last pass completed 2h ago");
  });

  it("is a warning for an inbox without a delivery, whose deliveries may all be purged", async () => {
    const cwd = folder();
    await storeAt(cwd, []);
    const { code, of } = await examine({ cwd });
    expect(code).toBe(0);
    expect(of["silence"]).toMatchObject({
      ok: true,
      warning: true,
      message: expect.stringMatching(
        /^The inbox is new, or was just updated, and has received no delivery since\. /,
      ),
    });
  });
});
