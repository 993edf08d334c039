import { type ImportMessage, observe, type PutMessage } from "@esim-webhooks/core";
import { importDeliveries } from "@esim-webhooks/import";
import { expect, it } from "vitest";
import { delivery, memoryInbox, ndjson } from "./dump.ts";

it("an import can be watched: how far it is, its end, and what it puts into the inbox", async () => {
  const progress: ImportMessage[] = [];
  const puts: PutMessage[] = [];
  const stop = observe({
    import: (message) => void progress.push(message),
    put: (message) => void puts.push(message),
  });
  const records = Array.from({ length: 1000 }, (_, n) => delivery(`msg_${n}`));
  const report = await importDeliveries(ndjson(...records, ...records), memoryInbox(), {
    trustUnsigned: true,
  }).finally(stop);
  expect(progress.at(-1)).toEqual({
    outcome: "ended",
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
