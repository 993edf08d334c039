import { crc32 } from "node:zlib";
import type { CopyTarget } from "@esim-webhooks/core/internal";
import {
  latestOnly,
  postgresCopyTarget,
  postgresInbox,
  postgresState,
  postgresStore,
} from "@esim-webhooks/store-postgres";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { entry, key } from "../../../test/inbox-entry.ts";
import { postgresUrl as url } from "../../../test/servers/shared.ts";
import { eventRecord } from "./event-record.ts";
import { createSchema, type TestSchema } from "./schema.ts";

let tables: TestSchema;
let schema: string;
let target: CopyTarget;
beforeEach(async () => {
  tables = await createSchema();
  schema = tables.schema;
  target = postgresCopyTarget({ url, schema });
  await target.migrate();
});
afterEach(async () => {
  await target.close();
  await tables.drop();
});

const hourMs = 3_600_000;

describe("records of another inbox", () => {
  it("are inserted if their keys are new, and update what has not changed since a copy", async () => {
    const inbox = postgresInbox({ url, schema });
    const records = [
      eventRecord("msg_3"),
      eventRecord("msg_2"),
      eventRecord("msg_1", { state: "dead", dueAtMs: null }),
    ];
    expect(await target.copyEvents(records)).toEqual({ inserted: 3, updated: 0, different: [] });
    expect(await target.copyEvents(records)).toEqual({ inserted: 0, updated: 0, different: [] });
    const done = {
      state: "done",
      body: null,
      dueAtMs: null,
      keptUntilMs: Date.now() + hourMs,
      attempts: 1,
    } as const;
    const later = [
      eventRecord("msg_0"),
      eventRecord("msg_1"),
      eventRecord("msg_2", done),
      eventRecord("msg_3", { conflicts: 2 }),
    ];
    expect(await target.copyEvents(later)).toEqual({ inserted: 1, updated: 3, different: [] });
    expect(await target.copyEvents(later)).toEqual({ inserted: 0, updated: 0, different: [] });
    expect(await inbox.get(key("msg_1"))).toMatchObject({ state: "ready" });
    expect(await inbox.get(key("msg_2"))).toMatchObject({ state: "done", body: null, attempts: 1 });
    expect(await inbox.get(key("msg_3"))).toMatchObject({ state: "ready", conflicts: 2 });
    await inbox.close();
  });

  it("change no events that were put, redriven or run again here, unless they are done in the source", async () => {
    const inbox = postgresInbox({ url, schema });
    const dead = { state: "dead", dueAtMs: null } as const;
    const done = { state: "done", body: null, dueAtMs: null, keptUntilMs: Date.now() + hourMs } as const;
    const present = entry("msg_put");
    await inbox.put([present, entry("msg_put_done")]);
    await target.copyEvents([eventRecord("msg_redriven", dead), eventRecord("msg_rerun", done)]);
    await inbox.redrive({ ids: ["msg_redriven"] });
    await inbox.rerun([{ ...entry("msg_rerun"), replay: { run: "run_1", rebuilt: false } }]);
    const records = [
      eventRecord("msg_put", dead),
      eventRecord("msg_put_done", done),
      eventRecord("msg_redriven", dead),
      eventRecord("msg_rerun", done),
    ];
    expect(await target.copyEvents(records)).toEqual({
      inserted: 0,
      updated: 1,
      different: [
        { ...key("msg_put"), state: "dead", targetState: "ready" },
        { ...key("msg_redriven"), state: "dead", targetState: "ready" },
        { ...key("msg_rerun"), state: "done", targetState: "ready" },
      ],
    });
    expect(await inbox.get(key("msg_put"))).toMatchObject({
      state: "ready",
      body: Buffer.from(present.body),
    });
    expect((await inbox.stats()).states).toMatchObject({ ready: 3, done: 1, dead: 0 });
    await inbox.close();
  });

  it("change no claim or lease that is still held, and replace one that has ended", async () => {
    const [inbox, store] = [postgresInbox({ url, schema }), postgresStore({ url, schema })];
    const done = { state: "done", body: null, dueAtMs: null, keptUntilMs: Date.now() + hourMs } as const;
    const lease = async (leaseMs: number) => {
      const claim = await store.claim(key("msg_claimed"), leaseMs);
      const [leased] = await inbox.take({ limit: 1, leaseMs });
      return { token: claim.status === "claimed" ? claim.token : "", leased };
    };
    const records = [eventRecord("msg_claimed"), eventRecord("msg_leased", done)];
    await inbox.put([entry("msg_leased")]);
    const { token, leased } = await lease(60_000);
    expect(await target.copyEvents(records)).toEqual({
      inserted: 0,
      updated: 0,
      different: [
        { ...key("msg_claimed"), state: "ready", targetState: "leased" },
        { ...key("msg_leased"), state: "done", targetState: "leased" },
      ],
    });
    await store.extend(key("msg_claimed"), token, 1);
    if (leased) await inbox.extend([leased], 1);
    let updated = 0; // one may end before the other
    await expect.poll(async () => (updated += (await target.copyEvents(records)).updated)).toBe(2);
    expect(await target.copyEvents(records)).toEqual({ inserted: 0, updated: 0, different: [] });
    expect(leased && (await inbox.settle([{ ...leased, state: "dead", error: "late" }]))).toEqual([false]);
    expect(await store.complete(key("msg_claimed"), token)).toBe(false);
    expect((await inbox.stats()).states).toMatchObject({ ready: 1, leased: 0, done: 1 });
    await Promise.all([inbox.close(), store.close()]);
  });

  it("keep all their fields, and absolute times", async () => {
    const inbox = postgresInbox({ url, schema });
    const keptUntilMs = Date.now() + 7 * 24 * hourMs;
    const replay = { run: "run_2", rebuilt: false, delivery: { status: "failed", attemptNumber: 3 } };
    const given = eventRecord("msg_1", {
      ...{
        state: "unhandled",
        dueAtMs: null,
        keptUntilMs,
        attempts: 3,
        tries: 3,
        conflicts: 2,
        error: "why",
        replay,
        runs: ["run_1"],
        lane: "E1",
      },
      ...{
        subject: "E1",
        key: "key:1a2b3c4d",
        trace: "00-a-b-01",
        takenAtMs: 1000,
        settledAtMs: 2000,
        erasedAtMs: 3000,
      },
      history: JSON.stringify([{ at: 3000, reason: "lease_ended" }]),
    });
    await target.copyEvents([given, eventRecord("msg_2", { state: "dead", dueAtMs: null })]);
    const {
      receivedAtMs,
      occurredAtMs: _,
      fingerprint: __,
      runs: ___,
      suspect: ______,
      waitingSinceMs: _______,
      dueAtMs: ____,
      keptUntilMs: _____,
      takenAtMs,
      settledAtMs,
      erasedAtMs,
      ...rest
    } = given;
    expect(await inbox.get(key("msg_1"))).toEqual({
      ...rest,
      receivedAt: new Date(receivedAtMs ?? 0),
      dueAt: null,
      leasedUntil: null,
      keptUntil: new Date(keptUntilMs),
      stack: null,
      takenAt: new Date(takenAtMs ?? 0),
      settledAt: new Date(settledAtMs ?? 0),
      erasedAt: new Date(erasedAtMs ?? 0),
      heldBy: null,
      history: [
        {
          ...{ endedAt: new Date(3000), reason: "lease_ended", durationMs: null, error: null, worker: null },
          ...{ by: null, attempts: null },
        },
      ],
    });
    expect(await inbox.get(key("msg_2"))).toMatchObject({ state: "dead", dueAt: null });
    await inbox.close();
  });

  it("that are suspects stay so, and those that wait by retryLater have waited since then", async () => {
    const inbox = postgresInbox({ url, schema });
    const hourAgo = Date.now() - hourMs;
    const records = [eventRecord("msg_1", { suspect: true }), eventRecord("msg_2")];
    await target.copyEvents(records);
    const waiting = eventRecord("msg_2", { ...records[1], waitingSinceMs: hourAgo });
    expect((await target.copyEvents([waiting])).updated).toBe(1);
    const take = (suspects: boolean) =>
      inbox.take({ limit: 10, leaseMs: 60_000, ...(suspects && { suspects }) });
    const [calm] = await take(false);
    expect(calm).toMatchObject({ id: "msg_2", waitedMs: expect.closeTo(hourMs, -5) });
    expect((await take(true)).map(({ id }) => id)).toEqual(["msg_1"]);
    await inbox.close();
  });

  it("of paused types are held, those that are there already included, and the later pause of a type stays", async () => {
    const inbox = postgresInbox({ url, schema });
    const pause = { type: "esim.enabled", reason: "CRM down", since: new Date(1000), until: null, by: "ada" };
    await target.copyEvents([eventRecord("msg_1")]);
    await target.copyPauses([pause]);
    await target.copyEvents([eventRecord("msg_2")]);
    expect(await inbox.paused()).toEqual([pause]);
    expect(await inbox.take({ limit: 10, leaseMs: 60_000 })).toEqual([]);
    expect((await inbox.gauges()).counts).toMatchObject({ paused: 2, ready: 0 });

    await inbox.pause({ types: ["esim.enabled"], reason: "paused here later" });
    await target.copyPauses([pause]);
    expect(await inbox.paused()).toMatchObject([{ reason: "paused here later" }]);
    await inbox.resume();
    expect(await inbox.take({ limit: 10, leaseMs: 60_000 })).toHaveLength(2);
    await inbox.close();
  });

  it("come with the notes for operators, each once, in the order of their ends", async () => {
    const inbox = postgresInbox({ url, schema });
    const note = (run: string, ms: number, kind: "import" | "reconcile" = "import") => ({
      ...{ kind, run, source: "default", outcome: "complete", ledger: { read: 1 } },
      ...{ startedAt: new Date(ms - 10), endedAt: new Date(ms) },
    });
    const [first, second, third] = [
      note("run_1", 1000),
      note("run_2", 2000, "reconcile"),
      note("run_3", 3000),
    ];
    await inbox.noteRun(second);
    const at = new Date(Math.floor(Date.now() / 60_000) * 60_000 - 60_000);
    const minute = { at, stored: 3, done: 2, retried: 1, dead: 0 };
    const lastReceivedAt = new Date(Date.now() - hourMs);
    const copyNotes = () => target.copyNotes({ runs: [third, first], minutes: [minute], lastReceivedAt });
    await copyNotes();
    await copyNotes();
    expect(await inbox.runs()).toEqual([third, second, first]);
    expect(await inbox.minutes()).toEqual([minute]);
    expect((await inbox.gauges()).lastReceivedAt).toEqual(lastReceivedAt);
    await inbox.close();
  });

  it("with text that Postgres refuses are stored as put would store them", async () => {
    const inbox = postgresInbox({ url, schema, lane: () => "E\0".repeat(400) });
    const odd = eventRecord("msg_1", {
      ...{ type: "a\0b", lane: "E\0".repeat(400), error: "half \ud800, none \0, \\u0000" },
      replay: { run: "run\0", rebuilt: true, delivery: { status: "\0" } },
      ...{ runs: ["run\0 1", '{"odd",'], attempts: 1 },
    });
    expect(await target.copyEvents([odd])).toEqual({ inserted: 1, updated: 0, different: [] });
    await inbox.put([entry("msg_2")]);
    const [first, second] = [await inbox.get(key("msg_1")), await inbox.get(key("msg_2"))];
    expect(first).toMatchObject({ type: "a\uFFFDb", error: "half \uFFFD, none \uFFFD, \\u0000" });
    expect(first?.lane).toBe(second?.lane);
    await inbox.close();
  });

  it("without a body still detect another body of their id by its fingerprint, in put and claim", async () => {
    const [inbox, store] = [postgresInbox({ url, schema }), postgresStore({ url, schema })];
    const done = { state: "done", body: null, dueAtMs: null, keptUntilMs: Date.now() + hourMs } as const;
    const rebuilt = { run: "run_1", rebuilt: true };
    await target.copyEvents([eventRecord("msg_1", done), eventRecord("msg_2", { ...done, replay: rebuilt })]);
    const body = Buffer.from(eventRecord("msg_1").body ?? []);
    const same = { ...entry("msg_1"), body };
    const another = { ...same, body: Buffer.concat([body, body]) };
    expect(await inbox.put([same])).toEqual(["already_stored"]);
    expect(await inbox.put([another])).toEqual(["conflict"]);
    expect(await inbox.put([{ ...another, replay: rebuilt }])).toEqual(["already_stored"]);
    expect(await inbox.put([{ ...another, id: "msg_2" }])).toEqual(["already_stored"]);
    expect(await inbox.put([{ ...another, id: "msg_2", replay: rebuilt }])).toEqual(["conflict"]);
    expect(await store.claim(key("msg_1"), 1000, crc32(body))).toEqual({ status: "done" });
    expect(await store.claim(key("msg_1"), 1000, 7)).toEqual({ status: "done", conflict: true });
    expect(await store.claim(key("msg_2"), 1000, 7)).toEqual({ status: "done" });
    await Promise.all([inbox.close(), store.close()]);
  });

  it("are inserted once each by several concurrent copies", async () => {
    const records = Array.from({ length: 300 }, (_, n) => eventRecord(`msg_${n}`));
    const inserted = await Promise.all(
      [records, records.toReversed(), records, records.toReversed()].map((given) => target.copyEvents(given)),
    );
    expect(inserted.reduce((sum, each) => sum + each.inserted, 0)).toBe(300);
  });

  it("of latestOnly keep the later time of a subject", async () => {
    const at = (iso: string) => Date.parse(iso);
    const latest = {
      family: "esim.lifecycle",
      subject: "E1",
      occurredAtMs: at("2026-11-20T10:00:00Z") + 0.25,
    };
    await target.copyLatest([latest]);
    await target.copyLatest([{ ...latest, occurredAtMs: at("2026-11-19T10:00:00Z") }]);
    const store = postgresStore({ url, schema });
    const handle = latestOnly({ state: latest.family, schema }, () => {});
    const worked = async (timestamp: string) => {
      const claim = await store.claim(key(timestamp), 60_000);
      let result: unknown;
      const work = async (tx: unknown) => {
        const event = {
          ...entry("msg_1").event,
          type: "esim.lifecycle.suspended",
          timestamp,
          data: { esimReference: "E1" },
        };
        result = await handle(event as never, { tx, discard: (reason: string) => ({ reason }) } as never);
        return true;
      };
      if (claim.status === "claimed") await store.transact(key(timestamp), claim.token, work);
      return result;
    };
    expect(await worked("2026-11-20T10:00:00.000249Z")).toMatchObject({
      reason: "older than what was worked before",
    });
    expect(await worked("2026-11-20T10:00:00.000250Z")).toBeUndefined();
    await store.close();
  });

  it("of small states are written if only a copy has written them here", async () => {
    const state = postgresState({ url, schema });
    await state.write("present", { mine: true }, undefined);
    await state.write("same", { step: 1 }, undefined);
    const records = (step: number) => [
      { name: "absent", value: JSON.stringify({ step }) },
      { name: "present", value: '{"mine":false}' },
      { name: "same", value: '{"step":1}' },
    ];
    expect(await target.copyStates(records(1))).toEqual(["present"]);
    expect((await state.read("present"))?.value).toEqual({ mine: true });
    const copied = await state.read("absent");
    expect(copied?.value).toEqual({ step: 1 });

    expect(await target.copyStates(records(2))).toEqual(["present"]);
    const updated = await state.read("absent");
    expect(updated?.value).toEqual({ step: 2 });
    expect(await state.write("absent", { step: 9 }, copied?.version)).toBe(false);
    expect(await state.write("absent", { step: 3 }, updated?.version)).toBe(true);

    expect(await target.copyStates(records(4))).toEqual(["absent", "present"]);
    expect((await state.read("absent"))?.value).toEqual({ step: 3 });
    await state.close();
  });
});
