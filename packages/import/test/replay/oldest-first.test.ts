import { importDeliveries } from "@esim-webhooks/import";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RawRecord } from "../../src/dump/record.ts";
import { oldestFirst } from "../../src/replay/oldest-first.ts";
import { all, delivery, ndjson, watchedInbox } from "../dump.ts";

const occurredMs = (raw: RawRecord) =>
  "value" in raw ? (raw.value as { at: number }).at : Number.NEGATIVE_INFINITY;

async function* inBatchesOf(size: number, raws: readonly RawRecord[]): AsyncGenerator<readonly RawRecord[]> {
  for (let at = 0; at < raws.length; at += size) yield raws.slice(at, at + size);
}

describe("oldestFirst", () => {
  it("sorts as a stable sort in memory would", async () => {
    const raw = fc.oneof(
      fc
        .record({ at: fc.integer({ min: -5, max: 5 }), text: fc.string({ unit: "binary", maxLength: 40 }) })
        .map((value) => ({ value })),
      fc.constant({ fault: "not_json" as const, reason: "it is not JSON", text: "\ud800é\0" }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(raw, { maxLength: 60 }),
        fc.integer({ min: 1, max: 20 }),
        async (given, size) => {
          const raws = given.map((one, n) => ({
            ...one,
            position: { record: n + 1, offset: n },
          })) as RawRecord[];
          const sorted = await all(oldestFirst(inBatchesOf(size, raws), occurredMs));
          expect(sorted.flat()).toEqual(
            raws.toSorted((a, b) => {
              const [x, y] = [occurredMs(a), occurredMs(b)];
              return x < y ? -1 : x > y ? 1 : 0;
            }),
          );
        },
      ),
      { numRuns: 100 },
    );
  });

  it("sorts more than fits in memory", async () => {
    const raws = Array.from({ length: 3000 }, (_, n): RawRecord => {
      const text = n % 100 === 0 ? "x".repeat(200_000) : "y".repeat(15_000);
      return { position: { record: n + 1, offset: n }, value: { at: (n * 7919) % 3000, text } };
    });
    const sorted = await all(oldestFirst(inBatchesOf(3, raws), occurredMs));
    expect(sorted.flat().map(occurredMs)).toEqual(Array.from({ length: 3000 }, (_, n) => n));
  });

  it("throws the error of its input", async () => {
    async function* failing(): AsyncGenerator<readonly RawRecord[]> {
      yield [{ position: { record: 1, offset: 0 }, value: { at: 1 } }];
      throw new Error("EIO");
    }
    await expect(all(oldestFirst(failing(), occurredMs))).rejects.toThrow("EIO");
  });

  it("passes a listing that is newest first to handlers oldest first, with bad lines before", async () => {
    const hours = [5, 4, 4, 3, 1, 0];
    const records = hours.map((hour, n) =>
      delivery(`${hour}:${n}`, { timestamp: `2026-11-20T0${hour}:00:00+0${n % 3}:00` }),
    );
    const expected = records
      .map(({ eventId, payload }) => ({
        eventId,
        at: Date.parse((payload as { timestamp: string }).timestamp),
      }))
      .sort((a, b) => a.at - b.at)
      .map(({ eventId }) => eventId);
    const seen: string[] = [];
    const report = await importDeliveries(
      ndjson(...records, "nonsense"),
      { "*": ({ id }) => void seen.push(id) },
      { trustUnsigned: true, oldestFirst: true },
    );
    expect(seen).toEqual(expected);
    expect(report.ledger).toMatchObject({ read: 7, stored: 6, invalid: 1 });
  });

  it("puts records without a time first", async () => {
    const inbox = watchedInbox();
    const options = { trustUnsigned: true, oldestFirst: true };
    await importDeliveries(ndjson(delivery("a"), delivery("b", { timestamp: "never" })), inbox, options);
    expect([...inbox.entries.keys()]).toEqual(["b", "a"]);
  });
});
