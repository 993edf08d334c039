import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  createProcessor,
  type HandlerContext,
  type InboxEntry,
  memoryStore,
  type PutResult,
  WebhookError,
} from "@esim-webhooks/core";
import { memoryInbox } from "@esim-webhooks/core/testing";
import { type ImportOptions, type ImportProgress, importDeliveries } from "@esim-webhooks/import";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { keptLog } from "../../../test/support/kept-log.ts";
import { loggerTo, loggerWith } from "../../../test/support/loggers.ts";
import { bytes, delivery, folder, ndjson, watchedInbox } from "./dump.ts";

const trusted = { trustUnsigned: true };
const none = { read: 0, stored: 0, duplicate: 0, conflict: 0, invalid: 0, filtered: 0, rejected: 0 };
const lines = (path: string) =>
  readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));

describe("importDeliveries into an inbox", () => {
  it("notes in the inbox that it has run, unless it is a dry run, and however it ended", async () => {
    const inbox = memoryInbox();
    const input = () => ndjson(delivery("msg_1"), delivery("msg_2"));
    await importDeliveries(input(), inbox, { ...trusted, dryRun: true });
    const { run, ledger } = await importDeliveries(input(), inbox, { ...trusted, source: "shop" });
    await importDeliveries(input(), inbox, { ...trusted, source: "shop", signal: AbortSignal.abort() });
    const times = { startedAt: expect.any(Date), endedAt: expect.any(Date) };
    expect(await inbox.runs()).toEqual([
      {
        kind: "import",
        run: expect.any(String),
        source: "shop",
        outcome: "interrupted",
        ledger: none,
        ...times,
      },
      { kind: "import", run, source: "shop", outcome: "complete", ledger, ...times },
    ]);
  });

  it("stores each event with its id, its payload as body, and fields of its delivery", async () => {
    const inbox = watchedInbox();
    const clock = { now: () => Date.parse("2026-11-21T00:00:00Z") };
    const record: Record<string, unknown> = { ...delivery("msg_1"), responseBody: "secret" };
    const report = await importDeliveries(ndjson(record), inbox, { ...trusted, source: "shop", clock });
    expect(report.ledger).toEqual({ ...none, read: 1, stored: 1 });
    expect(report).toMatchObject({
      dryRun: false,
      interrupted: false,
      forced: 0,
      damage: null,
      resumedAfter: 0,
    });
    expect(report.types).toEqual({ "esim.enabled": report.ledger });
    expect(report.span).toEqual({ from: "2026-11-20T09:30:00.000Z", to: "2026-11-20T09:30:00.000Z" });
    expect(report.bytesRead).toBe(Buffer.byteLength(`${JSON.stringify(record)}\n`));
    expect(report.forms).toContain("ndjson");
    const [entry] = inbox.puts as [InboxEntry];
    expect(entry).toMatchObject({
      source: "shop",
      id: "msg_1",
      type: "esim.enabled",
      receivedAt: new Date(clock.now()),
    });
    expect(entry.event).toMatchObject({ id: "msg_1", type: "esim.enabled" });
    expect(JSON.parse(Buffer.from(entry.body).toString())).toEqual(record["payload"]);
    expect(entry.replay).toEqual({
      run: report.run,
      rebuilt: true,
      delivery: {
        eventType: "esim.enabled",
        status: "exhausted",
        attemptNumber: 10,
        httpStatus: 503,
        nextRetryAt: null,
        sentAt: "2026-11-20T10:00:00.000Z",
        deliveredAt: null,
      },
    });
  });

  it("counts duplicates and conflicts as the inbox does; a second import has only duplicates", async () => {
    const inbox = watchedInbox();
    const dump = () => ndjson(delivery("a"), delivery("a"), delivery("a", { esim: "other" }), delivery("b"));
    const first = await importDeliveries(dump(), inbox, trusted);
    expect(first.ledger).toEqual({ ...none, read: 4, stored: 2, duplicate: 1, conflict: 1 });
    const second = await importDeliveries(dump(), inbox, trusted);
    expect(second.ledger).toEqual({ ...none, read: 4, duplicate: 3, conflict: 1 });
    expect(second.run).not.toBe(first.run);
  });

  it("names each conflict in the rejects file, with its id, and an event's other body stays", async () => {
    const rejectsFile = join(folder(), "rejects.ndjson");
    const inbox = watchedInbox();
    const dump = () => ndjson(delivery("a"), delivery("a", { esim: "other" }), delivery("b"));
    const report = await importDeliveries(dump(), inbox, { ...trusted, rejectsFile });
    expect(report.ledger).toEqual({ ...none, read: 3, stored: 2, conflict: 1 });
    expect(lines(rejectsFile)).toEqual([
      {
        position: { record: 2, line: 2, offset: expect.any(Number) },
        id: "a",
        code: "conflict",
        reason: "its id is stored with another body, which stays",
        record: delivery("a", { esim: "other" }),
      },
    ]);
    expect(Buffer.from(inbox.entries.get("a")?.body ?? []).toString()).not.toContain("other");
  });

  it("keeps the eventType of a delivery, and refuses one that is not the type of its payload", async () => {
    const rejectsFile = join(folder(), "rejects.ndjson");
    const inbox = watchedInbox();
    const { eventType: _, ...without } = delivery("without");
    const dump = ndjson(
      delivery("a"),
      { ...delivery("other"), eventType: "esim.deleted" },
      { ...delivery("empty"), eventType: "" },
      without,
    );
    const report = await importDeliveries(dump, inbox, { ...trusted, rejectsFile });
    expect(report.ledger).toEqual({ ...none, read: 4, stored: 3, invalid: 1 });
    expect(inbox.entries.get("a")?.replay?.delivery).toMatchObject({ eventType: "esim.enabled" });
    expect(inbox.entries.get("without")?.replay?.delivery).not.toHaveProperty("eventType");
    expect(lines(rejectsFile)).toMatchObject([
      { code: "not_a_record", reason: "its eventType is not the type in its payload" },
    ]);
  });

  it("stores unknown events and events that do not match their schema: the worker decides", async () => {
    const inbox = watchedInbox();
    const noData = {
      ...delivery("bad"),
      payload: { type: "esim.enabled", timestamp: "2026-11-20T09:30:00Z" },
    };
    const noEnvelope = { ...delivery("no_envelope"), payload: { hello: "world" } };
    const report = await importDeliveries(
      ndjson(delivery("new", { type: "esim.unheard_of" }), noData, noEnvelope),
      inbox,
      trusted,
    );
    expect(report.ledger).toEqual({ ...none, read: 3, stored: 3 });
    expect(report.types).toMatchObject({ "esim.unheard_of": { stored: 1 }, "(none)": { stored: 1 } });
    expect(inbox.entries.get("new")).toMatchObject({ type: "esim.unheard_of", event: { id: "new" } });
    expect(inbox.entries.get("bad")).toMatchObject({ event: null });
    expect(inbox.entries.get("no_envelope")).toMatchObject({ type: null, event: null });
  });

  it("puts batches of 2,000, two at the same time, in the order of the dump", async () => {
    const sizes: number[] = [];
    let atOnce = 0;
    let most = 0;
    const second = Promise.withResolvers<void>();
    const ids: string[] = [];
    const put = async (entries: readonly InboxEntry[]) => {
      most = Math.max(most, ++atOnce);
      if (most === 2) second.resolve();
      sizes.push(entries.length);
      ids.push(...entries.map(({ id }) => id));
      await second.promise;
      await new Promise(setImmediate);
      atOnce -= 1;
      return entries.map(() => "stored" as const);
    };
    const records = Array.from({ length: 8250 }, (_, n) => delivery(`msg_${n}`));
    const report = await importDeliveries(ndjson(...records), { put }, trusted);
    expect(report.ledger).toEqual({ ...none, read: 8250, stored: 8250 });
    expect(sizes).toEqual([...Array.from({ length: 4 }, () => 2000), 250]);
    expect(most).toBe(2);
    expect(ids).toEqual(records.map((record) => record["eventId"]));
  });

  it("puts smaller batches when bodies are large", async () => {
    const large = (id: string) => {
      const { payload, ...record } = delivery(id) as { payload: { data: object } };
      return { ...record, payload: { ...payload, data: { ...payload.data, detail: "x".repeat(1_000_000) } } };
    };
    const sizes: number[] = [];
    const put = async (entries: readonly InboxEntry[]) => {
      sizes.push(entries.length);
      return entries.map(() => "stored" as const);
    };
    await importDeliveries(
      ndjson(...Array.from({ length: 11 }, (_, n) => large(`msg_${n}`))),
      { put },
      trusted,
    );
    expect(Math.max(...sizes)).toBeLessThanOrEqual(5);
  });

  it.each([
    ["an error that is not a WebhookError", new Error("gone"), "store_unavailable"],
    ["store_unavailable", new WebhookError("store_unavailable", "Away.", "Start it."), "store_unavailable"],
    [
      "a mistake in the set-up",
      new WebhookError<string>("migration_missing", "Old.", "Migrate."),
      "migration_missing",
    ],
  ] as const)("rejects when put rejects with %s", async (_, error, code) => {
    const put = vi.fn().mockRejectedValue(error);
    const importing = importDeliveries(ndjson(delivery("a")), { put }, trusted);
    await expect(importing).rejects.toMatchObject({ code });
    if (code === "store_unavailable") {
      await expect(importing).rejects.toThrow(/Run it again/);
      await expect(importing).rejects.toMatchObject({ cause: error });
    }
  });

  it("says so when its arguments are swapped, or the target was not awaited", async () => {
    const importing = (...passed: unknown[]) => importDeliveries(...(passed as [never, never]));
    const invalid = (message: RegExp) => ({
      code: "invalid_option",
      message: expect.stringMatching(message),
    });
    const [dump, inbox] = [ndjson(delivery("msg_1")), memoryInbox()];
    await expect(importing(inbox, dump)).rejects.toMatchObject(
      invalid(/an inbox was passed as the dump\. Swap/),
    );
    await expect(importing(dump, Promise.resolve(inbox))).rejects.toMatchObject(
      invalid(/a promise was passed as the target\. Await it/),
    );
  });

  it("rejects when put does not answer for each entry", async () => {
    const importing = importDeliveries(
      ndjson(delivery("a"), delivery("b")),
      { put: async () => ["stored"] },
      trusted,
    );
    await expect(importing).rejects.toMatchObject({ code: "invalid_option" }); // not store_unavailable
    await expect(importing).rejects.toThrow(/one result per entry/);
  });

  it('refuses force for a target that does not state the role "rerun"', async () => {
    const { put, rerun } = watchedInbox();
    for (const target of [{ put }, { put, rerun }]) {
      const importing = importDeliveries(ndjson(delivery("a")), target, { ...trusted, force: true });
      await expect(importing).rejects.toMatchObject({ code: "invalid_option" });
      await expect(importing).rejects.toThrow(/does not have the role "rerun"/);
    }
  });
});

describe("importDeliveries into handlers", () => {
  it("handles events one at a time, in the order of the dump, with context.replayed", async () => {
    const seen: string[] = [];
    let atOnce = 0;
    const report = await importDeliveries(
      ndjson(
        delivery("a"),
        delivery("b"),
        delivery("a"),
        delivery("c", { type: "esim.deleted" }),
        delivery("d", { type: "x" }),
      ),
      {
        "esim.enabled": async ({ id }, { replayed, source, receivedAt }) => {
          expect({ replayed, source, receivedAt }).toEqual({
            replayed: true,
            source: "shop",
            receivedAt: expect.any(Date),
          });
          expect(++atOnce).toBe(1);
          await new Promise(setImmediate);
          atOnce -= 1;
          seen.push(id);
        },
      },
      { ...trusted, source: "shop" },
    );
    expect(seen).toEqual(["a", "b"]);
    expect(report.ledger).toEqual({ ...none, read: 5, stored: 2, duplicate: 1, filtered: 2 }); // two have no handler
  });

  it("runs no done event; with force it runs each once more, and logs it", async () => {
    const store = memoryStore();
    const ran = vi.fn();
    const info = vi.fn();
    const logger = loggerWith({ info });
    const dump = () => ndjson(delivery("a"), delivery("b"), delivery("a"));
    const handlers = { "esim.*": ({ id }: { id: string }) => void ran(id) };
    const all: ImportOptions = { ...trusted, store, logger };
    await importDeliveries(dump(), handlers, all);
    expect((await importDeliveries(dump(), handlers, all)).ledger).toEqual({
      ...none,
      read: 3,
      duplicate: 3,
    });
    expect(ran.mock.calls).toEqual([["a"], ["b"]]);
    const forced = await importDeliveries(dump(), handlers, { ...all, force: true });
    expect(forced.ledger).toEqual({ ...none, read: 3, stored: 2, duplicate: 1 });
    expect(forced.forced).toBe(2);
    expect(ran.mock.calls).toEqual([["a"], ["b"], ["a"], ["b"]]);
    const line = (id: string) => [
      { id, type: "esim.enabled", source: "default", run: forced.run },
      "A done event is run again.",
    ];
    const rerun = info.mock.calls.filter(([, message]) => message !== "webhook event");
    expect(rerun).toEqual([line("a"), line("b")]);
  });

  it("rejects an event whose handler failed, continues, and runs it in the next import", async () => {
    const rejectsFile = join(folder(), "rejects.ndjson");
    const store = memoryStore();
    let isUp = false;
    const handlers = {
      "esim.enabled": ({ id }: { id: string }, context: HandlerContext) => {
        if (id === "done" || isUp) return undefined;
        if (id === "later") return context.retryLater(1000);
        if (id === "discarded") return context.discard("not ours");
        throw new Error("+31 6 1234 5678 has no plan");
      },
    };
    const dump = () => ndjson(...["done", "later", "fails", "discarded"].map((id) => delivery(id)));
    const report = await importDeliveries(dump(), handlers, { ...trusted, store, rejectsFile });
    expect(report.ledger).toEqual({ ...none, read: 4, stored: 2, rejected: 2 });
    expect(lines(rejectsFile)).toMatchObject([
      { position: { record: 2 }, code: "retry_later", record: { eventId: "later" } },
      {
        position: { record: 3 },
        code: "failed",
        reason: "its handler failed, or its schema threw",
        record: { eventId: "fails" },
      },
    ]);
    isUp = true;
    const next = await importDeliveries(dump(), handlers, { ...trusted, store });
    expect(next.ledger).toEqual({ ...none, read: 4, stored: 2, duplicate: 2 });
  });

  it("rejects an event whose id another process is handling", async () => {
    const store = memoryStore();
    const claim = async () => ({ status: "busy", retryAfterMs: 5 }) as const; // its owner renews it
    const handlers = { "*": () => {} };
    const report = await importDeliveries(ndjson(delivery("a")), handlers, {
      ...trusted,
      store: { ...store, claim },
    });
    expect(report.ledger).toEqual({ ...none, read: 1, rejected: 1 });
  });

  describe("while a receiver handles some of its events inline, on the tables of the inbox", () => {
    const info = vi.fn();
    const logger = loggerWith({ info });
    const answers: PutResult[][] = [];
    const put = vi.fn(async () => answers.shift() ?? []);
    beforeEach(() => {
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
      info.mockClear();
      put.mockClear();
    });
    afterEach(() => void vi.useRealTimers());
    const imported = (more: object = {}) =>
      importDeliveries(
        ndjson(delivery("a"), delivery("b"), delivery("c")),
        { put },
        { ...trusted, logger, ...more },
      );

    it.each<[PutResult, object]>([
      ["stored", { stored: 3 }],
      ["already_stored", { stored: 2, duplicate: 1 }],
      ["busy", { stored: 2, rejected: 1 }],
    ])("waits once for its claim, and then %s decides", async (result, counts) => {
      answers.push(["stored", "busy", "stored"], [result]);
      const report = imported();
      await vi.waitFor(() =>
        expect(info).toHaveBeenCalledWith(expect.objectContaining({ events: 1 }), expect.anything()),
      );
      await vi.advanceTimersByTimeAsync(31_000);
      expect((await report).ledger).toEqual({ ...none, read: 3, ...counts });
      expect(put).toHaveBeenCalledTimes(2);
    });

    it("leaves them to the next run if it is stopped meanwhile", async () => {
      const stop = new AbortController();
      answers.push(["stored", "busy", "stored"]);
      const report = imported({ signal: stop.signal });
      await vi.waitFor(() => expect(info).toHaveBeenCalled());
      stop.abort();
      expect(await report).toMatchObject({ interrupted: true, ledger: none });
      expect(put).toHaveBeenCalledTimes(1);
    });
  });

  it("counts events that are in the inbox on the store's tables as duplicates at once, and says so once", async () => {
    const rejectsFile = join(folder(), "rejects.ndjson");
    const store = memoryStore();
    const states = new Map<string, object>([
      ["waits", { inInbox: "waiting" }],
      ["waits_too", { inInbox: "waiting" }],
      ["dead", { inInbox: "dead" }],
      ["unhandled", { inInbox: "unhandled" }],
      ["other_body", { inInbox: "dead", conflict: true }],
    ]);
    const claim = async ({ id }: { id: string }) =>
      ({ status: "busy", retryAfterMs: 3_600_000, ...states.get(id) }) as const;
    const logger = { ...keptLog(), child: () => logger };
    const dump = ndjson(...[...states.keys()].map((id) => delivery(id)));
    const report = await importDeliveries(
      dump,
      { "*": () => {} },
      { ...trusted, store: { ...store, claim }, rejectsFile, logger },
    );
    expect(report.ledger).toEqual({ ...none, read: 5, duplicate: 4, conflict: 1 });
    expect(lines(rejectsFile)).toMatchObject([{ id: "other_body", code: "conflict" }]);
    expect(logger.info.mock.calls).toEqual([
      [expect.objectContaining({ id: "waits" }), expect.stringContaining("a worker will handle them")],
    ]);
    expect(logger.warn.mock.calls).toEqual([
      [expect.objectContaining({ id: "dead" }), expect.stringContaining("retry them")],
      [expect.objectContaining({ id: "unhandled" }), expect.stringContaining("retry them")],
    ]);
  });

  it("waits for the claim of a killed run, and then handles its event in order", async () => {
    const store = memoryStore();
    await store.claim({ source: "default", id: "b" }, 300);
    const handled: string[] = [];
    const handlers = { "*": ({ id }: { id: string }) => void handled.push(id) };
    const dump = ndjson(delivery("a"), delivery("b"), delivery("c"));
    const report = await importDeliveries(dump, handlers, { ...trusted, store });
    expect(report.ledger).toEqual({ ...none, read: 3, stored: 3 });
    expect(handled).toEqual(["a", "b", "c"]);
  });

  it("can be interrupted while it waits for a claim, and leaves the event to the next run", async () => {
    const memory = memoryStore();
    await memory.claim({ source: "default", id: "b" }, 3_600_000);
    const stopping = new AbortController();
    const claim: typeof memory.claim = (key, ...given) => {
      if (key.id === "b") setImmediate(() => stopping.abort());
      return memory.claim(key, ...given);
    };
    const dump = ndjson(delivery("a"), delivery("b"));
    const report = await importDeliveries(
      dump,
      { "*": () => {} },
      {
        ...trusted,
        store: { ...memory, claim },
        signal: stopping.signal,
      },
    );
    expect(report).toMatchObject({ interrupted: true, ledger: { ...none, read: 1, stored: 1 } });
  });

  it("counts events that do not match their schema as invalid, and does not run them", async () => {
    const rejectsFile = join(folder(), "rejects.ndjson");
    const bad = {
      ...delivery("bad"),
      payload: { type: "esim.enabled", timestamp: "2026-11-20T09:30:00Z", data: {} },
    };
    const ran = vi.fn();
    const report = await importDeliveries(ndjson(bad), { "*": ran }, { ...trusted, rejectsFile });
    expect(report.ledger).toEqual({ ...none, read: 1, invalid: 1 });
    expect(report.types).toEqual({ "esim.enabled": { ...none, read: 1, invalid: 1 } });
    expect(lines(rejectsFile)[0]).toMatchObject({
      code: "invalid",
      reason: expect.stringContaining("data.esimReference"),
    });
    expect(ran).not.toHaveBeenCalled();
  });

  it("handles several events at the same time with concurrency, and a repeated id once", async () => {
    let atOnce = 0;
    let most = 0;
    const ran: string[] = [];
    const handler = async ({ id }: { id: string }) => {
      most = Math.max(most, ++atOnce);
      await new Promise(setImmediate);
      atOnce -= 1;
      ran.push(id);
    };
    const records = Array.from({ length: 40 }, (_, n) => delivery(`msg_${Math.floor(n / 2)}`));
    const report = await importDeliveries(
      ndjson(...records),
      { "*": handler },
      { ...trusted, concurrency: 8 },
    );
    expect(report.ledger).toEqual({ ...none, read: 40, stored: 20, duplicate: 20 });
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(8);
    expect(new Set(ran).size).toBe(20);
  });

  it("rejects when the store cannot be reached", async () => {
    const store = { ...memoryStore(), claim: () => Promise.reject(new Error("gone")) };
    const importing = importDeliveries(ndjson(delivery("a")), { "*": () => {} }, { ...trusted, store });
    await expect(importing).rejects.toMatchObject({ code: "store_unavailable" });
  });

  it("accepts a processor too, with its own catalog and store", async () => {
    const ran = vi.fn();
    const processor = createProcessor({ "*": ({ id }) => void ran(id) });
    const report = await importDeliveries(ndjson(delivery("a"), delivery("a")), processor, trusted);
    expect(report.ledger).toEqual({ ...none, read: 2, stored: 1, duplicate: 1 });
    expect(ran.mock.calls).toEqual([["a"]]);
  });
});

describe("importDeliveries under a source that the target does not know", () => {
  const dump = () => ndjson(delivery("a"));
  const handlers = { "*": () => {} };

  it("is refused by an inbox that holds only events of other sources, and by no other", async () => {
    const inbox = watchedInbox();
    const of = (options: ImportOptions = {}) => importDeliveries(dump(), inbox, { ...trusted, ...options });
    await of({ source: "prod" });
    await expect(of()).rejects.toMatchObject({ code: "source_unknown" });
    await expect(of()).rejects.toThrow(/source "prod": under "default".*second time.*source: "prod"/);
    await expect(of({ source: "eu" })).rejects.toThrow(/source "prod": under "eu".*newSource: true.*"eu"/);
    expect(inbox.puts).toHaveLength(1);
    expect((await of({ dryRun: true })).ledger.stored).toBe(1);
    expect((await of({ newSource: true })).ledger.stored).toBe(1); // the user's word
    expect((await of()).ledger.duplicate).toBe(1);
  });

  it("is refused with handlers and with a processor, whose store holds only ids of other sources", async () => {
    const store = memoryStore();
    const of = (source?: string) => importDeliveries(dump(), handlers, { ...trusted, store, source });
    await of("prod");
    const into = createProcessor(handlers, { store });
    await expect(of()).rejects.toMatchObject({ code: "source_unknown" });
    await expect(of("eu")).rejects.toMatchObject({ code: "source_unknown" });
    await expect(importDeliveries(dump(), into, trusted)).rejects.toMatchObject({ code: "source_unknown" });
    expect((await of("prod")).ledger.duplicate).toBe(1);
  });

  it("is accepted when the target has one event of it, behind thousands of another source", async () => {
    const inbox = memoryInbox();
    const of = (source: string, ids: readonly string[]) =>
      importDeliveries(ndjson(...ids.map((id) => delivery(id))), inbox, {
        ...trusted,
        source,
        newSource: true,
      });
    await of(
      "prod",
      Array.from({ length: 1200 }, (_, n) => `prod_${n}`),
    );
    await of("default", ["a"]);
    expect((await importDeliveries(dump(), inbox, trusted)).ledger.duplicate).toBe(1);
  });

  it("does not make a processor's store ready twice to ask it", async () => {
    const ready = vi.fn(async () => {});
    await importDeliveries(
      dump(),
      createProcessor(handlers, { store: { ...memoryStore(), ready } }),
      trusted,
    );
    expect(ready).toHaveBeenCalledOnce();
  });

  it("is refused as such when the marks of an import with force are in the store, too", async () => {
    const store = memoryStore();
    const options = { ...trusted, store, source: "prod", force: true };
    await importDeliveries(dump(), handlers, options);
    const importing = importDeliveries(dump(), handlers, { ...trusted, store });
    await expect(importing).rejects.toThrow(/only events of the source "prod": under/);
  });

  it("rejects with store_unavailable when the inbox cannot be asked", async () => {
    const sources = () => Promise.reject(new Error("gone"));
    const importing = importDeliveries(dump(), { ...watchedInbox(), sources }, trusted);
    await expect(importing).rejects.toMatchObject({ code: "store_unavailable" });
  });
});

describe("importDeliveries", () => {
  it("counts what is not a record, says where and why without quoting it, and continues", async () => {
    const rejectsFile = join(folder(), "rejects.ndjson");
    const report = await importDeliveries(
      ndjson(
        delivery("a"),
        "{ nonsense 8932042000010012344",
        { payload: delivery("x")["payload"] },
        { ...delivery("x"), eventId: `comma${"x".repeat(1024)}` },
        { ...delivery("x"), eventId: 5 },
        { ...delivery("x"), payload: "8932042000010012344 is no JSON" },
        { ...delivery("x"), payload: ["list"] },
        { ...delivery("x"), payload: `${"[".repeat(100)}${"]".repeat(100)}` },
        "[".repeat(200) + "]".repeat(200),
        `"${"x".repeat(5000)}"`,
        delivery("b"),
      ),
      watchedInbox(),
      { ...trusted, rejectsFile, maxRecordBytes: 4000 },
    );
    expect(report.ledger).toMatchObject({ stored: 2, invalid: report.ledger.read - 2 });
    const rejects = lines(rejectsFile);
    expect(rejects).toHaveLength(report.ledger.invalid);
    for (const { position, reason } of rejects) {
      expect(position).toEqual({
        record: expect.any(Number),
        line: expect.any(Number),
        offset: expect.any(Number),
      });
      expect(reason).not.toMatch(/8932042000010012344|nonsense|comma/);
    }
    const codes = new Set(rejects.map(({ code }) => code));
    expect(codes).toEqual(new Set(["not_json", "not_a_record", "unstorable_id", "too_large", "too_deep"]));
    expect(rejects[0].text).toContain("nonsense");
    expect(statSync(rejectsFile).mode & 0o777).toBe(0o600);
  });

  it("overwrites an older rejects file, and makes it readable by its owner only", async () => {
    const rejectsFile = join(folder(), "rejects.ndjson");
    writeFileSync(rejectsFile, "old", { mode: 0o644 });
    await importDeliveries(ndjson(delivery("a")), watchedInbox(), { ...trusted, rejectsFile });
    expect(readFileSync(rejectsFile, "utf8")).toBe("");
    expect(statSync(rejectsFile).mode & 0o777).toBe(0o600);
  });

  it("imports a rejects file with a mapping", async () => {
    const rejectsFile = join(folder(), "rejects.ndjson");
    const failing = { "*": () => Promise.reject(new Error("down")) };
    await importDeliveries(ndjson(delivery("a"), delivery("b")), failing, { ...trusted, rejectsFile });
    const inbox = watchedInbox();
    const mapping = { eventId: "record.eventId", payload: "record.payload", status: "record.status" };
    await importDeliveries(bytes(readFileSync(rejectsFile)), inbox, { ...trusted, mapping });
    expect([...inbox.entries.keys()]).toEqual(["a", "b"]);
    expect(inbox.puts[0]?.replay?.delivery).toEqual({ status: "exhausted" });
  });

  it("maps records of another shape, and payloads that are JSON text", async () => {
    const inbox = watchedInbox();
    const { payload } = delivery("x");
    const record = (id: string, body: unknown) => ({
      message: { id, body },
      "sent.at": "2026-11-20T10:00:00Z",
    });
    const report = await importDeliveries(
      ndjson(record("a", payload), record("b", JSON.stringify(payload)), { message: {} }, { message: null }),
      inbox,
      { ...trusted, mapping: { eventId: "message.id", payload: "message.body", sentAt: "sent.at" } },
    );
    expect(report.ledger).toEqual({ ...none, read: 4, stored: 2, invalid: 2 });
    expect(inbox.puts.map(({ body }) => JSON.parse(Buffer.from(body).toString()))).toEqual([
      payload,
      payload,
    ]);
    expect(inbox.puts[0]?.replay?.delivery).toEqual({ sentAt: "2026-11-20T10:00:00Z" });
  });

  it("reads no field from a prototype, with a mapping or without, and passes no prototype on", async () => {
    const inbox = watchedInbox();
    const mapping = { eventId: "constructor.name", payload: "__proto__" };
    const report = await importDeliveries(ndjson({ a: 1 }), inbox, { ...trusted, mapping });
    expect(report.ledger).toMatchObject({ invalid: 1 });
    const line = JSON.stringify(delivery("a", { type: "__proto__" })).replace(
      '"data":{',
      '"data":{"__proto__":{"evil":1},',
    );
    const polluting = `{"__proto__":{"eventId":"b","payload":{}}}`;
    const { ledger, types } = await importDeliveries(ndjson(line, polluting), inbox, trusted);
    expect(ledger).toEqual({ ...none, read: 2, stored: 1, invalid: 1 });
    expect(Object.keys(types)).toEqual(["(other)", "(none)"]);
    expect(({} as { evil?: unknown }).evil).toBeUndefined();
    expect(Buffer.from(inbox.puts[0]?.body ?? []).toString()).toContain('"__proto__":{"evil":1}');
  });

  it.each<[string, ImportOptions, string[]]>([
    ["since, inclusive, by the event's timestamp", { since: new Date("2026-11-20T02:00:00Z") }, ["c", "d"]],
    ["until, which does not count", { until: new Date("2026-11-20T02:00:00Z") }, ["a", "b"]],
    ["types", { types: ["esim.deleted"] }, ["b"]],
    ["families of types", { types: ["esim.lifecycle.*", "esim.deleted"] }, ["b", "c"]],
    ["ids", { ids: ["a", "d"] }, ["a", "d"]],
    ["esimReferences", { esimReferences: ["e2"] }, ["d"]],
    ["delivery statuses", { statuses: ["failed", "exhausted"] }, ["a", "b", "d"]],
    ["several, all of which hold", { types: ["esim.*"], statuses: ["failed"] }, ["b"]],
  ])("filters by %s", async (_, filter, ids) => {
    const inbox = watchedInbox();
    const at = (hour: number) => `2026-11-20T0${hour}:00:00.000Z`;
    const dump = ndjson(
      delivery("a", { timestamp: at(0), esim: "e1" }),
      delivery("b", { timestamp: at(1), esim: "e1", type: "esim.deleted", status: "failed" }),
      delivery("c", { timestamp: at(2), esim: "e1", type: "esim.lifecycle.suspended", status: "delivered" }),
      delivery("d", { timestamp: at(3), esim: "e2" }),
    );
    const report = await importDeliveries(dump, inbox, { ...trusted, ...filter });
    expect([...inbox.entries.keys()]).toEqual(ids);
    expect(report.ledger).toEqual({ ...none, read: 4, stored: ids.length, filtered: 4 - ids.length });
  });

  it.each(["1.23E+17", "1.23457E+17", "1,23E+17", "1E+17", "1.23e+17"])(
    "rejects a record whose id may be the rounded one of another event, unless it accepts them: %s",
    async (id) => {
      const inbox = watchedInbox();
      const rejectsFile = join(folder(), "rejects");
      const dump = () => ndjson(delivery(id), delivery("123000000000000000"));
      const report = await importDeliveries(dump(), inbox, { ...trusted, rejectsFile });
      expect(report.ledger).toMatchObject({ read: 2, stored: 1, rejected: 1 });
      expect(lines(rejectsFile)).toEqual([
        expect.objectContaining({
          id,
          code: "rounded_id",
          reason: expect.stringMatching(/export the column as text/),
        }),
      ]);
      const accepted = await importDeliveries(dump(), inbox, { ...trusted, acceptRoundedIds: true });
      expect(accepted.ledger).toMatchObject({ read: 2, stored: 1, duplicate: 1 });
      expect([...inbox.entries.keys()]).toContain(id);
    },
  );

  it("stops at the first unsigned record, before anything is stored, unless trustUnsigned is set", async () => {
    const inbox = watchedInbox();
    const importing = importDeliveries(ndjson(delivery("a")), inbox);
    await expect(importing).rejects.toMatchObject({ code: "unsigned_dump" });
    await expect(importing).rejects.toThrow(/trustUnsigned/);
    expect(inbox.puts).toEqual([]);
    for (const oldestFirst of [false, true]) {
      const filtered = await importDeliveries(ndjson(delivery("a")), inbox, { ids: ["b"], oldestFirst });
      expect(filtered.ledger).toEqual({ ...none, read: 1, filtered: 1 });
      const unsigned = importDeliveries(ndjson(delivery("a")), inbox, { oldestFirst });
      await expect(unsigned).rejects.toMatchObject({ code: "unsigned_dump" });
    }
  });

  it("uses no target and no store in a dry run, and counts the events that would be handed over", async () => {
    const put = vi.fn();
    const bad = {
      ...delivery("bad"),
      payload: { type: "esim.enabled", timestamp: "2026-11-20T09:30:00Z", data: {} },
    };
    const dump = () =>
      ndjson(delivery("a"), delivery("a"), "nonsense", bad, delivery("b", { type: "esim.deleted" }));
    const options = { ...trusted, dryRun: true, types: ["esim.enabled"] };
    const report = await importDeliveries(dump(), { put }, options);
    expect(report).toMatchObject({
      dryRun: true,
      ledger: { ...none, read: 5, stored: 3, invalid: 1, filtered: 1 },
    });
    expect(put).not.toHaveBeenCalled();
    const store = Object.fromEntries(
      ["claim", "extend", "complete", "release", "ready", "close"].map((name) => [name, vi.fn()]),
    );
    const handler = vi.fn();
    const inline = await importDeliveries(dump(), { "*": handler }, { ...options, store: store as never });
    expect(inline.ledger).toEqual({ ...none, read: 5, stored: 2, invalid: 2, filtered: 1 });
    expect(handler).not.toHaveBeenCalled();
    for (const operation of Object.values(store)) expect(operation).not.toHaveBeenCalled();
  });

  it("imports everything before the damage of a dump, and reports the damage", async () => {
    const records = Array.from({ length: 1200 }, (_, n) => delivery(`msg_${n}`));
    const text = JSON.stringify(records);
    const inbox = watchedInbox();
    const report = await importDeliveries(bytes(text.slice(0, -10)), inbox, trusted);
    expect(report.ledger).toEqual({ ...none, read: 1199, stored: 1199 });
    expect(inbox.entries.size).toBe(1199);
    const { problem = "", remedy = "" } = report.damage ?? {};
    expect(report.damage).toEqual({ code: "damaged_dump", message: `${problem} ${remedy}`, problem, remedy });
    const sorted = await importDeliveries(bytes(text.slice(0, -10)), inbox, {
      ...trusted,
      oldestFirst: true,
    });
    expect(sorted).toMatchObject({ ledger: { duplicate: 1199 }, damage: { code: "damaged_dump" } });
  });

  it("reports input that is not a dump", async () => {
    const report = await importDeliveries(bytes(Buffer.from([1, 2, 3, 250, 4, 0])), watchedInbox(), trusted);
    expect(report).toMatchObject({ ledger: none, damage: { code: "unknown_dump" } });
  });

  it("rejects with the error of its input, which is no damage", async () => {
    const inbox = watchedInbox();
    async function* input() {
      yield* ndjson(delivery("a"));
      throw new Error("EIO");
    }
    await expect(importDeliveries(input(), inbox, trusted)).rejects.toThrow("EIO");
  });

  it.each([
    ["nothing", undefined],
    ["a path", "dump.ndjson"],
    ["bytes", new Uint8Array(5)],
  ])("says what input it accepts when the input is %s", async (_, input) => {
    const importing = importDeliveries(input as never, watchedInbox(), trusted);
    await expect(importing).rejects.toMatchObject({ code: "invalid_input" });
    await expect(importing).rejects.toThrow(/createReadStream/);
  });

  it("refuses a stream of text", async () => {
    async function* text() {
      yield "{}";
    }
    const importing = importDeliveries(text() as never, watchedInbox(), trusted);
    await expect(importing).rejects.toMatchObject({ code: "invalid_input" });
  });

  it.each<[string, object, object]>([
    ["an unknown option", watchedInbox(), { dryrun: true }],
    ["a filter that matches nothing", watchedInbox(), { ids: [] }],
    ["an unknown status", watchedInbox(), { statuses: ["lost"] }],
    ["a mapping without a payload", watchedInbox(), { mapping: { eventId: "id" } }],
    ["a mapping of an unknown field", watchedInbox(), { mapping: { eventId: "id", payload: "p", id: "x" } }],
    ["an invalid date", watchedInbox(), { since: new Date("x") }],
    ["a store together with an inbox", watchedInbox(), { store: memoryStore() }],
    ["a store together with a processor", createProcessor({ "*": () => {} }), { store: memoryStore() }],
    ["no handlers", {}, {}],
  ])("refuses %s", async (_, target, options) => {
    const importing = importDeliveries(ndjson(delivery("a")), target as never, { ...trusted, ...options });
    await expect(importing).rejects.toMatchObject({ code: "invalid_option" });
  });

  it("refuses a handler for an unknown type, in a dry run too", async () => {
    for (const dryRun of [false, true]) {
      const importing = importDeliveries(ndjson(), { "esim.enabeld": () => {} } as never, {
        ...trusted,
        dryRun,
      });
      await expect(importing).rejects.toMatchObject({ code: "unknown_event_type" });
    }
  });

  it("reports its progress, also at the end", async () => {
    const reported: ImportProgress[] = [];
    const records = Array.from({ length: 3000 }, (_, n) => delivery(`msg_${n}`));
    const onProgress = (progress: ImportProgress) => void reported.push(progress);
    const report = await importDeliveries(ndjson(...records), watchedInbox(), { ...trusted, onProgress });
    expect(reported.at(-1)).toEqual({ bytesRead: report.bytesRead, records: 3000, ledger: report.ledger });
    expect(reported.length).toBeLessThan(100);
    const reads = reported.map(({ records }) => records);
    expect(reads).toEqual(reads.toSorted((a, b) => a - b));
  });

  it("reports its progress while handlers are slow", async () => {
    const reported: number[] = [];
    const handler = () => new Promise((resolve) => setTimeout(resolve, 60));
    const onProgress = ({ records }: ImportProgress) => void reported.push(records);
    const dump = ndjson(...Array.from({ length: 6 }, (_, n) => delivery(`msg_${n}`)));
    await importDeliveries(dump, { "*": handler }, { ...trusted, onProgress });
    expect(new Set(reported).size).toBeGreaterThan(2);
  });

  it("continues when onProgress, the logger or a schema throws", async () => {
    const throws = () => {
      throw new Error("mine");
    };
    const logger = loggerTo(throws);
    const catalog = { types: ["esim.enabled"], parse: throws, check: throws } as never;
    const inbox = watchedInbox();
    const options = { ...trusted, onProgress: throws, logger, catalog };
    const report = await importDeliveries(ndjson(delivery("a")), inbox, options);
    expect(report.ledger).toEqual({ ...none, read: 1, stored: 1 });
    expect(inbox.puts[0]).toMatchObject({ type: "esim.enabled", event: null });
    const inline = await importDeliveries(
      ndjson(delivery("a")),
      { "esim.enabled": () => {} },
      { ...options },
    );
    expect(inline.ledger).toEqual({ ...none, read: 1, rejected: 1 });
  });

  it("counts an event whose schema throws as rejected with handlers, in a dry run too: a later import tries it again", async () => {
    const check = () => {
      throw new Error("mine");
    };
    const catalog = { types: ["esim.enabled"], parse: check, check } as never;
    for (const dryRun of [false, true]) {
      const handlers = { "esim.enabled": () => {} };
      const { ledger } = await importDeliveries(ndjson(delivery("a")), handlers, {
        ...trusted,
        catalog,
        dryRun,
      });
      expect(ledger).toEqual({ ...none, read: 1, rejected: 1 });
    }
  });

  it("stops at an asynchronous schema, because every event would fail", async () => {
    const check = () => {
      throw new WebhookError("async_schema", "It is.", "Do not.");
    };
    const catalog = { types: ["esim.enabled"], parse: check, check } as never;
    for (const target of [watchedInbox(), { "esim.enabled": () => {} }]) {
      const importing = importDeliveries(ndjson(delivery("a")), target, { ...trusted, catalog });
      await expect(importing).rejects.toMatchObject({ code: "async_schema" });
    }
  });

  it("keeps a ledger for each of 1,000 types, and one for all other types", async () => {
    const records = Array.from({ length: 1500 }, (_, n) => delivery(`msg_${n}`, { type: `t.${n}` }));
    const odd = delivery("odd", { type: "\u001b[31mred" });
    const { types } = await importDeliveries(ndjson(odd, ...records), watchedInbox(), trusted);
    expect(Object.keys(types)).toHaveLength(1000);
    expect(types["(other)"]).toMatchObject({ read: 502 });
  });
});
