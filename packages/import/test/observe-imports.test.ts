import { observe, type PutMessage } from "@esim-webhooks/core/observe";
import { type ImportMessage, importDeliveries, observeImports, replayRecords } from "@esim-webhooks/import";
import { expect, it, onTestFinished } from "vitest";
import { expectWarnings } from "../../../test/support/warnings.ts";
import { bytes, delivery, ndjson, watchedInbox } from "./dump.ts";

expectWarnings("observer_failed");

const trusted = { trustUnsigned: true };

/** Collects the messages of all imports until the test ends. */
function watched(): ImportMessage[] {
  const messages: ImportMessage[] = [];
  onTestFinished(observeImports((message) => void messages.push(message)));
  return messages;
}

it("observers see the progress of an import, its end, and what it puts into the inbox", async () => {
  const progress = watched();
  const puts: PutMessage[] = [];
  onTestFinished(observe({ put: (message) => void puts.push(message) }));
  const records = Array.from({ length: 1000 }, (_, n) => delivery(`msg_${n}`));
  const report = await importDeliveries(ndjson(...records, ...records), watchedInbox(), trusted);
  expect(progress.at(-1)).toEqual({
    run: report.run,
    source: "default",
    dryRun: false,
    outcome: "complete",
    durationMs: expect.any(Number),
    bytesRead: report.bytesRead,
    records: 2000,
    ledger: report.ledger,
  });
  expect(progress.length).toBeGreaterThan(1);
  expect(progress.slice(0, -1).every(({ outcome }) => outcome === "running")).toBe(true);
  const results = puts.flatMap((put) => put.results ?? []);
  const ids = puts.flatMap((put) => put.events.map(({ id }) => id));
  expect(ids).toHaveLength(2000);
  expect(results.filter((result) => result === "stored")).toHaveLength(1000);
  expect(results.filter((result) => result === "already_stored")).toHaveLength(1000);
});

it("observers see how an import ended, and why it failed", async () => {
  const messages = watched();
  const dump = () => ndjson(delivery("msg_1"));
  const error = new Error("disk full");
  const away = { put: () => Promise.reject(error) };
  await expect(importDeliveries(dump(), away, trusted)).rejects.toThrow();
  const damaged = bytes(Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1, 2, 3]));
  await importDeliveries(damaged, watchedInbox(), trusted);
  const signal = AbortSignal.abort();
  await importDeliveries(dump(), watchedInbox(), { ...trusted, signal });
  const ends = messages.filter(({ outcome }) => outcome !== "running");
  expect(ends.map(({ outcome }) => outcome)).toEqual(["failed", "damaged", "interrupted"]);
  expect(ends[0]).toMatchObject({ error: expect.any(Error), ledger: { stored: 0 } });
});

it("two replays at the same time can be told apart, by their run and their source", async () => {
  const messages = watched();
  const replayed = async (source: string) => {
    const records = Array.from({ length: 3 }, (_, n) => delivery(`${source}_${n}`));
    async function* pages() {
      yield records;
    }
    return replayRecords(pages(), watchedInbox(), { ...trusted, source });
  };
  const reports = await Promise.all(["tokyo", "berlin"].map(replayed));
  const ends = messages.filter(({ outcome }) => outcome === "complete");
  expect(ends.map(({ source, run, records }) => ({ source, run, records })).sort(bySource)).toEqual([
    { source: "berlin", run: reports[1]?.run, records: 3 },
    { source: "tokyo", run: reports[0]?.run, records: 3 },
  ]);
  expect(ends.every((message) => !("bytesRead" in message))).toBe(true);
});

it("the end of a replay that fails has its error", async () => {
  const messages = watched();
  const error = new Error("the listing is away");
  async function* failing(): AsyncGenerator<never> {
    yield* [];
    throw error;
  }
  await expect(replayRecords(failing(), watchedInbox(), trusted)).rejects.toBe(error);
  expect(messages.at(-1)).toMatchObject({ outcome: "failed", error });
});

it("an observer of imports that throws changes no import", async () => {
  const warnings: Error[] = [];
  const warn = (warning: Error) => void warnings.push(warning);
  process.on("warning", warn);
  onTestFinished(() => void process.off("warning", warn));
  onTestFinished(
    observeImports(() => {
      throw new Error("an observer's own mistake");
    }),
  );
  const report = await importDeliveries(ndjson(delivery("msg_1")), watchedInbox(), trusted);
  expect(report.ledger.stored).toBe(1);
  await expect.poll(() => warnings).toMatchObject([{ code: "observer_failed" }]);
  expect(() => observeImports({} as never)).toThrow(
    /^observeImports: expected a function, not object\. Pass/,
  );
});

function bySource(a: { readonly source: string }, b: { readonly source: string }): number {
  return a.source.localeCompare(b.source);
}

it("observers see that an import is a dry run", async () => {
  const messages = watched();
  await importDeliveries(ndjson(delivery("msg_1")), watchedInbox(), { ...trusted, dryRun: true });
  expect(messages.at(-1)).toMatchObject({ outcome: "complete", dryRun: true });
});
