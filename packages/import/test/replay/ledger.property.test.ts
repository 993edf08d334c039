import { rmSync } from "node:fs";
import { join } from "node:path";
import { type InboxEntry, memoryStore } from "@esim-webhooks/core";
import { type ImportOptions, importDeliveries, type Ledger } from "@esim-webhooks/import";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { delivery, folder, ndjson, sumOf, watchedInbox } from "../dump.ts";

const record = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .record({
        id: fc.integer({ min: 0, max: 30 }).map((n) => `msg_${n}`),
        esim: fc.constantFrom("e1", "e2"),
        type: fc.constantFrom("esim.enabled", "esim.deleted", "esim.new"),
        timestamp: fc.constantFrom("2026-11-20T00:00:00Z", "2026-11-20T01:00:00Z", "never"),
        status: fc.constantFrom("failed", "delivered"),
      })
      .map(({ id, ...options }) => delivery(id, options)),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<unknown>(
      "{",
      "[",
      '{"eventId":5}',
      { eventId: "x" },
      { payload: {} },
      5,
      null,
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constant({
      headers: { "webhook-signature": "v1,x" },
      body: "{}",
      receivedAt: "2026-11-20T00:00:00Z",
    }),
  },
);
const filter: fc.Arbitrary<ImportOptions> = fc.record(
  {
    since: fc.constant(new Date("2026-11-20T00:30:00Z")),
    until: fc.constant(new Date("2026-11-20T00:30:00Z")),
    types: fc.constantFrom(["esim.enabled"], ["esim.*"]),
    ids: fc.constant(["msg_1", "msg_2", "msg_3"]),
    esimReferences: fc.constant(["e1"]),
    statuses: fc.constant(["failed"]),
    oldestFirst: fc.boolean(),
    dryRun: fc.boolean(),
  },
  { requiredKeys: [] },
);
const base: ImportOptions = { trustUnsigned: true, secret: `whsec_${"A".repeat(43)}=` };

function expectBalance({ ledger, types }: { ledger: Ledger; types: Readonly<Record<string, Ledger>> }): void {
  expect(sumOf({ ...ledger })).toBe(ledger.read);
  for (const one of Object.values(types)) expect(sumOf({ ...one })).toBe(one.read);
  for (const name of Object.keys(ledger) as (keyof Ledger)[]) {
    expect(Object.values(types).reduce((sum, one) => sum + one[name], 0)).toBe(ledger[name]);
  }
}

describe("the ledger", () => {
  it("balances for any mixture of records and any filters, into an inbox and into handlers", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(record, { maxLength: 80 }), filter, async (records, options) => {
        const lines = [delivery("first"), ...records]; // one valid line makes it a dump
        const inbox = watchedInbox();
        const report = await importDeliveries(ndjson(...lines), inbox, { ...base, ...options });
        expectBalance(report);
        expect(report.ledger.read).toBe(lines.length);
        if (!options.dryRun) expect(report.ledger.stored).toBe(inbox.entries.size);
        const fails = ({ id }: { id: string }) => {
          if (id.endsWith("7")) throw new Error("seven");
        };
        const inline = await importDeliveries(
          ndjson(...lines),
          { "esim.*": fails },
          { ...base, ...options, store: memoryStore() },
        );
        expectBalance(inline);
        expect(inline.ledger.read).toBe(lines.length);
        expect(inline.ledger.filtered).toBeGreaterThanOrEqual(report.ledger.filtered); // plus events without a handler
      }),
      { numRuns: 80 },
    );
  });

  it("balances when the import is interrupted at any point, any number of times, and each event is stored once", async () => {
    const checkpointFile = join(folder(), "checkpoint");
    await fc.assert(
      fc.asyncProperty(
        fc.array(record, { minLength: 1, maxLength: 60 }),
        filter,
        fc.array(fc.tuple(fc.integer({ min: 1, max: 20 }), fc.boolean()), { maxLength: 4 }),
        fc.constantFrom("inbox", "store", "input"),
        async (records, { dryRun: _, ...options }, interruptions, where) => {
          const lines = [delivery("first"), ...records]; // one valid line makes it a dump
          const seen: string[] = [];
          const inbox = watchedInbox();
          const store = memoryStore();
          const once = async (after: number, isAbort: boolean) => {
            const stopping = new AbortController();
            let left = after;
            const strike = () => {
              if (--left !== 0) return;
              if (!isAbort) throw new Error("gone");
              stopping.abort();
            };
            const put = async (entries: readonly InboxEntry[]) => {
              strike();
              return inbox.put(entries);
            };
            async function* input() {
              for await (const chunk of ndjson(...lines)) {
                if (where === "input") strike();
                yield chunk;
              }
            }
            const claim: typeof store.claim = async (...given) => {
              if (where === "store") strike();
              return store.claim(...given);
            };
            const handlers = { "*": ({ id }: { id: string }) => void seen.push(id) };
            const all = { ...base, ...options, checkpointFile, signal: stopping.signal };
            const importing =
              where === "inbox"
                ? importDeliveries(input(), { put }, all)
                : importDeliveries(input(), handlers, {
                    ...all,
                    concurrency: 2,
                    store: { ...store, claim },
                  });
            const report = await importing.catch((error) => {
              if (where === "input") expect(error).toMatchObject({ message: "gone" });
              else expect(error).toMatchObject({ code: "store_unavailable" });
              return undefined;
            });
            if (report) expectBalance(report);
            return report;
          };
          for (const [after, isAbort] of interruptions) await once(after, isAbort);
          const report = await once(0, false);
          expect(report).toMatchObject({ interrupted: false, ledger: { read: lines.length } });
          expect(new Set(seen).size).toBe(seen.length);
          rmSync(checkpointFile, { force: true });
        },
      ),
      { numRuns: 80 },
    );
  });
});
