import { type ImportMessage, observe, type PutMessage } from "@esim-webhooks/core";
import { importDeliveries } from "@esim-webhooks/import";
import { expect, it } from "vitest";
import { bytes, delivery, ndjson, watchedInbox } from "./dump.ts";

it("observers see the progress of an import, its end, and what it puts into the inbox", async () => {
  const progress: ImportMessage[] = [];
  const puts: PutMessage[] = [];
  const stop = observe({
    import: (message) => void progress.push(message),
    put: (message) => void puts.push(message),
  });
  const records = Array.from({ length: 1000 }, (_, n) => delivery(`msg_${n}`));
  const report = await importDeliveries(ndjson(...records, ...records), watchedInbox(), {
    trustUnsigned: true,
  }).finally(stop);
  expect(progress.at(-1)).toEqual({
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
  expect(results.filter((result) => result === "duplicate")).toHaveLength(1000);
});

it("observers see how an import ended, and why it failed", async () => {
  const ends: ImportMessage[] = [];
  const stop = observe({ import: (message) => void (message.outcome !== "running" && ends.push(message)) });
  const dump = () => ndjson(delivery("msg_1"));
  const error = new Error("disk full");
  const away = { put: () => Promise.reject(error) };
  await expect(importDeliveries(dump(), away, { trustUnsigned: true })).rejects.toThrow();
  const damaged = bytes(Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1, 2, 3]));
  await importDeliveries(damaged, watchedInbox(), { trustUnsigned: true });
  const signal = AbortSignal.abort();
  await importDeliveries(dump(), watchedInbox(), { trustUnsigned: true, signal });
  stop();
  expect(ends.map(({ outcome }) => outcome)).toEqual(["failed", "damaged", "interrupted"]);
  expect(ends[0]).toMatchObject({ error: expect.any(Error), ledger: { stored: 0 } });
});
