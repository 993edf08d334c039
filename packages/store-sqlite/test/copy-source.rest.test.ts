import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { crc32 } from "node:zlib";
import type { RunNote } from "@esim-webhooks/core";
import { readHistory } from "@esim-webhooks/core/engine";
import type { CopySource, EventRecord } from "@esim-webhooks/core/internal";
import {
  type SqliteInbox,
  sqliteCopySource,
  sqliteInbox,
  sqliteState,
  sqliteStore,
} from "@esim-webhooks/store-sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { entry, key } from "../../../test/inbox-entry.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";
import { openShop, type Shop } from "./shop.ts";
import { folderOfEachTest } from "./temporary-folder.ts";

expectWarnings("invalid_option");

const folder = folderOfEachTest();
let path: string;
let inbox: SqliteInbox;
let source: CopySource;
/** Another connection to the file. */
let other: Shop;

beforeEach(() => {
  path = join(folder.path, "events.db");
  inbox = sqliteInbox({
    path,
    lane: (event) => String((event.data as Record<string, unknown>)["esimReference"]),
  });
  source = sqliteCopySource({ path });
  other = openShop(path);
});
afterEach(async () => {
  await source.close();
  await inbox.close();
  other.close();
});

async function all<Row>(pages: AsyncIterable<readonly Row[]>): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const page of pages) rows.push(...page);
  return rows;
}

const recordsById = async (): Promise<Record<string, EventRecord>> =>
  Object.fromEntries((await all(source.events())).map((record) => [record.id, record]));

async function takeAndSettle(state: "done" | "unhandled" | "dead", id: string): Promise<void> {
  await inbox.put([entry(id)]);
  const [lease] = await inbox.take({ limit: 1, leaseMs: 60_000 });
  if (lease === undefined) throw new Error("nothing was taken");
  await inbox.settle([state === "dead" ? { ...lease, state, error: "no SIM" } : { ...lease, state }]);
}

describe("the records of a file", () => {
  it("hold all that is kept of an event that waits, its body and the microseconds of its time included", async () => {
    const replay = { run: "second", rebuilt: true, delivery: { status: "failed" } };
    const made = entry("msg_1", { timestamp: "2026-11-20T10:00:00.123456Z", esim: "E1" });
    const given = { ...made, replay, key: "key:1a2b3c4d", trace: "00-a-b-01" };
    await inbox.put([{ ...given, replay: { ...replay, run: "first" } }]);
    const [lease] = await inbox.take({ limit: 1, leaseMs: 60_000 });
    if (lease) await inbox.settle([{ ...lease, state: "done" }]);
    await inbox.rerun([given]);
    const other = { ...given, body: Buffer.from(`${given.body} `) };
    expect(await inbox.put([other])).toEqual(["conflict"]);
    expect(await all(source.events())).toEqual([
      {
        ...{ source: "default", id: "msg_1", state: "ready", type: "esim.enabled", lane: "E1" },
        body: new Uint8Array(given.body),
        fingerprint: crc32(given.body),
        receivedAtMs: given.receivedAt.getTime(),
        occurredAtMs: Date.parse("2026-11-20T10:00:00.123Z") + 0.456,
        ...{ dueAtMs: expect.closeTo(Date.now(), -5), keptUntilMs: null },
        ...{ suspect: false, waitingSinceMs: null },
        ...{ attempts: 1, tries: 0, conflicts: 1, error: null, replay, runs: ["first"] },
        ...{ subject: "E1", key: "key:1a2b3c4d", trace: "00-a-b-01" },
        ...{ takenAtMs: null, settledAtMs: null, erasedAtMs: null, history: null },
      },
    ]);
  });

  it("hold when an event was taken and settled, and its failed attempts", async () => {
    await inbox.put([entry("msg_1")]);
    const [lease] = await inbox.take({ limit: 1, leaseMs: 60_000 });
    const report = { reason: "failed", durationMs: 7, error: "Error: no SIM", worker: "host:1:a" } as const;
    if (lease) await inbox.settle([{ ...lease, state: "dead", error: "no SIM", report }]);
    const { takenAt, settledAt, history } = (await inbox.get(key("msg_1"))) ?? {};
    const { msg_1 } = await recordsById();
    expect([msg_1?.takenAtMs, msg_1?.settledAtMs]).toEqual([takenAt?.getTime(), settledAt?.getTime()]);
    expect(readHistory(msg_1?.history ?? null)).toEqual(history);
    expect(history).toEqual([{ endedAt: settledAt, ...report, by: null, attempts: null }]);
  });

  it("hold done, unhandled and dead events, and when they may be forgotten", async () => {
    await takeAndSettle("done", "msg_done");
    await takeAndSettle("unhandled", "msg_unhandled");
    await takeAndSettle("dead", "msg_dead");
    const { msg_done, msg_unhandled, msg_dead } = await recordsById();
    const inAMonth = expect.closeTo(Date.now() + 30 * 86_400_000, -8); // or up to 6 hours later
    expect(msg_done).toMatchObject({ state: "done", body: null, dueAtMs: null, keptUntilMs: inAMonth });
    expect(msg_done?.fingerprint).toEqual(expect.any(Number));
    expect(msg_unhandled).toMatchObject({
      state: "unhandled",
      body: expect.any(Uint8Array),
      keptUntilMs: inAMonth,
    });
    expect(msg_dead).toMatchObject({
      state: "dead",
      dueAtMs: null,
      keptUntilMs: null,
      error: "no SIM",
      attempts: 1,
    });
  });

  it("hold ids that were handled inline", async () => {
    const store = sqliteStore({ path });
    const claim = await store.claim(key("msg_1"), 1000, 7);
    if (claim.status === "claimed") await store.complete(key("msg_1"), claim.token);
    expect((await recordsById())["msg_1"]).toMatchObject({
      ...{
        state: "done",
        type: null,
        body: null,
        lane: null,
        fingerprint: 7,
        receivedAtMs: null,
        occurredAtMs: null,
      },
    });
    await store.close();
  });

  it("leave live leases and claims out, which are counted", async () => {
    const store = sqliteStore({ path });
    await inbox.put([entry("msg_1"), entry("msg_2")]);
    await inbox.take({ limit: 1, leaseMs: 60_000 });
    await store.claim(key("msg_3"), 60_000);
    expect(await source.look()).toMatchObject({ events: 1, leased: 2 });
    expect(await all(source.events())).toHaveLength(1);
    await store.close();
  });

  it("take an ended lease for an event that is ready, and an ended claim for none", async () => {
    const store = sqliteStore({ path });
    await inbox.put([entry("msg_1")]);
    await inbox.take({ limit: 1, leaseMs: 60_000 });
    await store.claim(key("msg_2"), 60_000);
    other.run("update esim_webhooks_event set leased_until = 1000 where id = 'msg_1'");
    other.run("update esim_webhooks_event set leased_until = leased_until + 3600000 where id = 'msg_2'"); // the clock was set back
    expect(await source.look()).toMatchObject({ events: 1, leased: 0 });
    expect(await all(source.events())).toMatchObject([
      {
        ...{ id: "msg_1", state: "ready", dueAtMs: 1000, attempts: 1, suspect: true },
        error: "The lease ended before its worker settled it.",
        history: '[{"reason":"lease_ended","at":1000}]',
      },
    ]);
    await store.close();
  });

  it("hold since when an event waits by retryLater", async () => {
    await inbox.put([entry("msg_1")]);
    const [lease] = await inbox.take({ limit: 1, leaseMs: 60_000 });
    if (lease) await inbox.settle([{ ...lease, state: "waiting", afterMs: 60_000, error: "not yet" }]);
    expect((await recordsById())["msg_1"]?.waitingSinceMs).toEqual(expect.closeTo(Date.now(), -5));
  });

  it("have a paused event as one that is ready, due when it was, with the pause apart from it", async () => {
    await inbox.put([entry("msg_1")]);
    const before = await recordsById();
    await inbox.pause({ types: ["esim.enabled"], reason: "the CRM is down" });
    expect((await inbox.gauges()).counts.paused).toBe(1);
    expect(await recordsById()).toEqual(before);
    expect(await source.paused()).toEqual(await inbox.paused());
  });

  it("come with the notes of runs and minutes, and when the last delivery was received", async () => {
    const counting = sqliteInbox({ path, minuteCounts: true });
    const given = entry("msg_1");
    await counting.put([given]);
    const note: RunNote = {
      ...{ kind: "import", run: "run_1", source: "default", outcome: "complete", ledger: { read: 1 } },
      ...{ startedAt: new Date(1000), endedAt: new Date(2000) },
    };
    await counting.noteRun(note);
    await counting.close();
    const { minutes, ...rest } = await source.notes();
    expect(rest).toEqual({ runs: [note], lastReceivedAt: given.receivedAt });
    expect(minutes).toMatchObject([{ stored: 1 }]);
  });

  it("have an erased event without its personal data, and when that was erased", async () => {
    await inbox.put([entry("msg_1", { esim: "E1" })]);
    await inbox.erase("E1");
    const { erasedAt } = (await inbox.get(key("msg_1"))) ?? {};
    expect((await recordsById())["msg_1"]).toMatchObject({
      ...{ state: "done", error: "erased", body: null, lane: null, subject: null },
      erasedAtMs: erasedAt?.getTime(),
    });
  });

  it("are read in pages, each once, also with large bodies", async () => {
    const mebibyte = 1024 * 1024;
    const ids = Array.from({ length: 1203 }, (_, n) => `msg_${n}`);
    const sources = ["a", "b"];
    await inbox.put(
      sources.flatMap((source) =>
        ids.map((id, n) => ({
          ...entry(id, { timestamp: "2026-11-20T10:00:00Z" }),
          source,
          ...(n < 20 && { body: Buffer.alloc(mebibyte) }),
        })),
      ),
    );
    const pages: { readonly rows: number; readonly bytes: number }[] = [];
    const keys = new Set<string>();
    for await (const page of source.events()) {
      pages.push({
        rows: page.length,
        bytes: page.reduce((sum, { body }) => sum + (body?.byteLength ?? 0), 0),
      });
      for (const record of page) keys.add(`${record.source} ${record.id}`);
    }
    expect(keys.size).toBe(2406);
    expect(pages.reduce((sum, { rows }) => sum + rows, 0)).toBe(2406);
    expect(Math.max(...pages.map(({ rows }) => rows))).toBe(500);
    expect(Math.max(...pages.map(({ bytes }) => bytes))).toBeLessThan(9 * mebibyte);
  });

  it("are none in an empty file", async () => {
    await inbox.ready();
    expect(await source.look()).toMatchObject({ events: 0, leased: 0 });
    expect(await source.paused()).toEqual([]);
    expect(await source.notes()).toEqual({ runs: [], minutes: [], lastReceivedAt: null });
    expect([await all(source.events()), await all(source.latest()), await all(source.states())]).toEqual([
      [],
      [],
      [],
    ]);
  });

  it("hold how far latestOnly has come, and small states", async () => {
    await inbox.ready();
    other.run(
      "insert into esim_webhooks_latest values ('esim.lifecycle', 'E1', 1000.5), ('esim.lifecycle', 'E2', 2000)",
    );
    const state = sqliteState({ path });
    await state.write("rotation", { step: 2 }, undefined);
    await state.close();
    expect(await all(source.latest())).toEqual([
      { family: "esim.lifecycle", subject: "E1", occurredAtMs: 1000.5 },
      { family: "esim.lifecycle", subject: "E2", occurredAtMs: 2000 },
    ]);
    expect(await all(source.states())).toEqual([{ name: "rotation", value: '{"step":2}' }]);
  });

  it("have another version once another process has written", async () => {
    await inbox.ready();
    const first = await source.look();
    expect(await source.look()).toEqual(first);
    await inbox.put([entry("msg_1")]);
    const second = await source.look();
    expect(second.version).not.toBe(first.version);
    other.run("update esim_webhooks_event set attempts = 2");
    expect((await source.look()).version).not.toBe(second.version);
  });

  it("are refused of a file that is not there, and none is made", async () => {
    const missing = join(folder.path, "none", "events.db");
    const absent = sqliteCopySource({ path: missing });
    await expect(absent.ready()).rejects.toMatchObject({
      code: "invalid_option",
      message: expect.stringContaining(`There is no file ${missing}.`),
    });
    await absent.close();
    expect(existsSync(dirname(missing))).toBe(false);
  });

  it.each([
    ["that no store or inbox has used", ""],
    ["of an earlier version", "create table esim_webhooks_migration (number integer)"],
  ])("are refused of a database %s", async (_, made) => {
    const path = join(folder.path, "other.db");
    const shop = openShop(path);
    if (made !== "") shop.run(made);
    shop.close();
    const foreign = sqliteCopySource({ path });
    await expect(foreign.look()).rejects.toMatchObject({
      code: "invalid_option",
      message: expect.stringContaining(`The database ${path} does not have the tables of this version.`),
    });
    await foreign.close();
  });
});
