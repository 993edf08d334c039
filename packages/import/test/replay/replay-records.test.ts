import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import { memoryStore, WebhookError } from "@esim-webhooks/core";
import {
  type RecordVerdict,
  type ReplayCounts,
  type ReplayJournal,
  replayRecords,
} from "@esim-webhooks/import";
import { describe, expect, it } from "vitest";
import { delivery, sumOf, watchedInbox } from "../dump.ts";

const trusted = { trustUnsigned: true };
const none = { read: 0, stored: 0, duplicate: 0, conflict: 0, invalid: 0, filtered: 0, rejected: 0 };

/** Pages of a listing: each value is a record. */
async function* pages(...listing: readonly (readonly unknown[])[]): AsyncGenerator<readonly unknown[]> {
  yield* listing;
}

/** A signal, and what aborts it. */
function stopper(): { readonly signal: AbortSignal; abort(): void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}

/** A journal in memory that lists its calls. */
function memoryJournal(run: string, tally?: ReplayCounts) {
  const calls: string[] = [];
  const rejects: string[] = [];
  let latest: ReplayCounts | undefined;
  const journal: Required<Omit<ReplayJournal, "tally">> & { readonly tally: ReplayCounts | undefined } = {
    run,
    tally,
    begin: async () => void calls.push("begin"),
    reject: async (lines) => void rejects.push(...lines.split("\n").slice(0, -1)),
    settle: async (verdicts, counted) => {
      calls.push(`settle ${verdicts.at(-1)?.position.record}`);
      latest = counted();
    },
  };
  return { journal, calls, rejects, latest: () => latest };
}

describe("replayRecords", () => {
  it("stores records from anywhere, and reports a ledger that balances", async () => {
    const inbox = watchedInbox();
    const records = () => pages([delivery("a"), { neither: true }], [], [delivery("b"), delivery("a")]);
    const report = await replayRecords(records(), inbox, trusted);
    expect(report).toMatchObject({ dryRun: false, interrupted: false, forced: 0, run: expect.any(String) });
    expect(report.ledger).toEqual({ ...none, read: 4, stored: 2, duplicate: 1, invalid: 1 });
    expect(report.types).toMatchObject({ "esim.enabled": { stored: 2 }, "(none)": { invalid: 1 } });
    expect(inbox.entries.get("a")?.replay).toMatchObject({ run: report.run, rebuilt: true });
    const again = await replayRecords(records(), inbox, trusted);
    expect(again.ledger).toEqual({ ...none, read: 4, duplicate: 3, invalid: 1 });
  });

  it("passes filtered records to handlers, in order", async () => {
    const seen: string[] = [];
    const handlers = { "*": ({ id }: { id: string }) => void seen.push(id) };
    const filter = { ids: ["a", "c"], store: memoryStore() };
    const records = pages([delivery("c"), delivery("b")], [delivery("a")]);
    const report = await replayRecords(records, handlers, { ...trusted, ...filter });
    expect(report.ledger).toEqual({ ...none, read: 3, stored: 2, filtered: 1 });
    expect(seen).toEqual(["c", "a"]);
  });

  it("rejects a record that is nested more than 1,000 deep, in a payload or in a captured body", async () => {
    const deep = (levels: number) => JSON.parse("[".repeat(levels) + "]".repeat(levels));
    const { journal, rejects } = memoryJournal("deep");
    const captured = { headers: {}, body: { a: deep(8000) }, receivedAt: "2026-11-20T00:00:00Z" };
    const records = pages([
      { eventId: "a", payload: { type: "esim.enabled", data: deep(8000) } },
      captured,
      { eventId: "b", payload: { type: "esim.enabled", data: deep(998) } },
    ]);
    const report = await replayRecords(records, watchedInbox(), { ...trusted, journal });
    expect(report.ledger).toEqual({ ...none, read: 3, stored: 1, invalid: 2 });
    const position = { record: 1 };
    expect(JSON.parse(rejects[0] ?? "")).toEqual({
      position,
      id: "a",
      code: "too_deep",
      reason: "nested more than 1000 deep",
    });
  });

  it("calls begin, reject and settle of its journal, in this order", async () => {
    const { journal, calls, rejects, latest } = memoryJournal("first");
    const inbox = watchedInbox();
    const put: typeof inbox.put = (entries) => {
      calls.push("put");
      return inbox.put(entries);
    };
    const records = pages([{ neither: true }, delivery("a")]);
    const report = await replayRecords(records, { put }, { ...trusted, journal });
    expect(calls).toEqual(["begin", "put", "settle 2"]);
    expect(rejects.map((line) => JSON.parse(line))).toMatchObject([
      { position: { record: 1 }, code: "not_a_record", record: { neither: true } },
    ]);
    expect(report).toMatchObject({ run: "first", ...latest() });
  });

  it("hands records over oldest first, those without a time before them", async () => {
    const seen: string[] = [];
    const handlers = { "*": ({ id }: { id: string }) => void seen.push(id) };
    const at = (id: string, hour: number) => delivery(id, { timestamp: `2026-11-20T0${hour}:00:00.000Z` });
    const records = pages([at("c", 3), at("b", 2)], [{ neither: true }, at("a", 1)]);
    const report = await replayRecords(records, handlers, {
      ...trusted,
      oldestFirst: true,
      store: memoryStore(),
    });
    expect(report.ledger).toMatchObject({ read: 4, stored: 3, invalid: 1 });
    expect(seen).toEqual(["a", "b", "c"]);
  });

  it("tells settle of its journal what became of each record", async () => {
    const verdicts: RecordVerdict[] = [];
    const journal: ReplayJournal = {
      run: "first",
      settle: async (settled) => void verdicts.push(...settled),
    };
    const odd = { ...delivery("b"), payload: null };
    const records = pages([delivery("a"), odd], [delivery("a", { status: "delivered" }), { neither: true }]);
    await replayRecords(records, watchedInbox(), { ...trusted, journal });
    const occurredMs = Date.parse("2026-11-20T09:30:00.000Z");
    const event = { id: "a", type: "esim.enabled", occurredMs };
    const none = { type: null, occurredMs: Number.NaN, status: null };
    expect(verdicts).toEqual([
      { ...event, position: { record: 1 }, status: "exhausted", fate: "stored" },
      { ...none, position: { record: 2 }, id: "b", fate: "invalid", code: "not_a_record" },
      { ...event, position: { record: 3 }, status: "delivered", fate: "duplicate" },
      { ...none, position: { record: 4 }, id: "", fate: "invalid", code: "not_a_record" },
    ]);
  });

  it("continues with the counts and the name of its journal, and forces nothing twice", async () => {
    const store = memoryStore();
    const options = { ...trusted, store, force: true };
    let runs = 0;
    const handlers = { "*": () => void runs++ };
    await replayRecords(pages([delivery("a"), delivery("b")]), handlers, { ...trusted, store });
    const first = memoryJournal("first");
    await replayRecords(pages([delivery("a")]), handlers, { ...options, journal: first.journal });
    const second = memoryJournal("first", first.latest());
    const report = await replayRecords(pages([delivery("a"), delivery("b")]), handlers, {
      ...options,
      journal: second.journal,
    });
    expect(report).toMatchObject({ forced: 2, ledger: { read: 3, stored: 2, duplicate: 1 } });
    expect(second.calls.at(-1)).toBe("settle 3"); // the numbers of records continue, too
    expect(runs).toBe(4);
  });

  it("stops when its signal aborts: running events finish, and are counted", async () => {
    const stopping = new AbortController();
    const inbox = watchedInbox();
    async function* endless(): AsyncGenerator<readonly unknown[]> {
      for (let record = 1; ; record++) {
        if (record === 1000) stopping.abort();
        yield [delivery(`msg_${record}`)];
      }
    }
    const report = await replayRecords(endless(), inbox, { ...trusted, signal: stopping.signal });
    expect(report.interrupted).toBe(true);
    expect(report.ledger.stored).toBe(inbox.entries.size);
    expect(sumOf({ ...report.ledger })).toBe(report.ledger.read);
  });

  it("rejects with the error of its records, after everything handed over is settled", async () => {
    const { journal, latest } = memoryJournal("first");
    const inbox = watchedInbox();
    async function* failing(): AsyncGenerator<readonly unknown[]> {
      yield* pages(Array.from({ length: 400 }, (_, n) => delivery(`msg_${n}`)));
      throw new Error("the listing is unavailable");
    }
    const replaying = replayRecords(failing(), inbox, { ...trusted, journal });
    await expect(replaying).rejects.toThrow("the listing is unavailable");
    expect(inbox.entries.size).toBe(400);
    expect(latest()?.ledger.stored).toBe(400);
  });

  it("stores a page, and settles it, while the next page is awaited", async () => {
    const { journal, latest } = memoryJournal("first");
    const inbox = watchedInbox();
    const next = Promise.withResolvers<void>();
    async function* slow(): AsyncGenerator<readonly unknown[]> {
      yield* pages([delivery("a")]);
      await next.promise;
    }
    const replaying = replayRecords(slow(), inbox, { ...trusted, journal });
    await expect.poll(() => latest()?.ledger.stored).toBe(1);
    expect([...inbox.entries.keys()]).toEqual(["a"]);
    next.resolve();
    await replaying;
  });

  it("rejects when its target fails, without waiting for the next page", async () => {
    async function* blocked(): AsyncGenerator<readonly unknown[]> {
      yield* pages([delivery("a")]);
      await new Promise(() => {});
    }
    const away = { put: () => pause(1).then(() => Promise.reject(new Error("away"))) };
    await expect(replayRecords(blocked(), away, trusted)).rejects.toMatchObject({
      code: "store_unavailable",
    });
  });

  it("fills its batches while the next page is there at once", async () => {
    const sizes: number[] = [];
    const inbox = watchedInbox();
    const put: typeof inbox.put = (entries) => {
      sizes.push(entries.length);
      return inbox.put(entries);
    };
    await replayRecords(
      pages(...Array.from({ length: 4500 }, (_, n) => [delivery(`msg_${n}`)])),
      { put },
      trusted,
    );
    expect(sizes).toEqual([2000, 2000, 500]);
  });

  it("lets a batch go to the target while it reads the next one, though its records never wait", async () => {
    let read = 0;
    async function* counted(): AsyncGenerator<readonly unknown[]> {
      for (; read < 4000; read++) yield* pages([delivery(`msg_${read}`)]);
    }
    const reads: number[] = [];
    const inbox = watchedInbox();
    const put: typeof inbox.put = async (entries) => {
      await nextTurn(); // as an inbox that gathers the puts of a turn
      reads.push(read);
      return inbox.put(entries);
    };
    await replayRecords(counted(), { put }, trusted);
    expect(reads[0]).toBeLessThan(3000);
  });

  it("ends as interrupted when its records throw an AbortError of their own because of its signal", async () => {
    const { signal, ...stopping } = stopper();
    async function* waiting(): AsyncGenerator<readonly unknown[]> {
      yield* pages([delivery("a")]);
      stopping.abort();
      await pause(60_000, undefined, { signal });
    }
    const report = await replayRecords(waiting(), watchedInbox(), { ...trusted, signal });
    expect(report.interrupted).toBe(true);
  });

  it("reads no further page once its signal has aborted", async () => {
    const { signal, ...stopping } = stopper();
    let read = 0;
    async function* slow(): AsyncGenerator<readonly unknown[]> {
      for (; read < 40; read++) {
        if (read === 2) stopping.abort();
        await pause(1);
        yield* pages([delivery(`msg_${read}`)]);
      }
    }
    const report = await replayRecords(slow(), watchedInbox(), { ...trusted, signal });
    expect(report.interrupted).toBe(true);
    expect(read).toBeLessThan(4);
  });

  it("does not wait for records that never come once its signal has aborted", async () => {
    const { signal, ...stopping } = stopper();
    const inbox = watchedInbox();
    async function* blocked(): AsyncGenerator<readonly unknown[]> {
      yield* pages([delivery("a")]);
      await new Promise(() => {});
    }
    const replaying = replayRecords(blocked(), inbox, { ...trusted, signal });
    await expect.poll(() => inbox.entries.size).toBe(1);
    stopping.abort();
    expect(await replaying).toMatchObject({ interrupted: true, ledger: { stored: 1 } });
  });

  it("closes its records when its signal stops it between two pages", async () => {
    const { signal, ...stopping } = stopper();
    let isClosed = false;
    async function* records(): AsyncGenerator<readonly unknown[]> {
      try {
        for (let n = 0; ; n++) {
          yield* pages([delivery(`msg_${n}`)]);
          if (n === 3) stopping.abort();
        }
      } finally {
        isClosed = true;
      }
    }
    await replayRecords(records(), watchedInbox(), { ...trusted, signal });
    await expect.poll(() => isClosed).toBe(true);
  });

  it("reports a journal that fails, also once its signal has aborted", async () => {
    const { signal, ...stopping } = stopper();
    const { journal } = memoryJournal("first");
    const settle = async () => {
      stopping.abort();
      throw new Error("disk full");
    };
    const replaying = replayRecords(pages([delivery("a")]), watchedInbox(), {
      ...trusted,
      signal,
      journal: { ...journal, settle },
    });
    await expect(replaying).rejects.toThrow("disk full");
  });

  it("changes nothing in a dry run, and reports mistakes in the set-up before it reads", async () => {
    const untouched = { put: () => Promise.reject(new Error("touched")) };
    const report = await replayRecords(pages([delivery("a")]), untouched, { ...trusted, dryRun: true });
    expect(report).toMatchObject({ dryRun: true, ledger: { stored: 1 } });
    const refused = (options: object) => replayRecords(pages([delivery("a")]), untouched, options);
    await expect(refused({ force: true })).rejects.toMatchObject({ code: "invalid_option" });
    await expect(refused({ store: memoryStore() })).rejects.toMatchObject({ code: "invalid_option" });
    await expect(refused({ rejectsFile: "rejects" })).rejects.toThrow(
      /replayRecords: there is no option "rejectsFile"/,
    );
    await expect(refused({ journal: {} })).rejects.toThrow(/"journal": expected an object with run/);
    await expect(refused({})).rejects.toMatchObject({ code: "unsigned_dump" });
    const away = { put: () => Promise.reject(new WebhookError("store_unavailable", "Away.", "Start it.")) };
    await expect(replayRecords(pages([delivery("a")]), away, trusted)).rejects.toMatchObject({
      code: "store_unavailable",
    });
  });
});
