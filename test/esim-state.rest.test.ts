import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createProcessor } from "@esim-webhooks/core";
import { sqliteStore } from "@esim-webhooks/store-sqlite";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { esimTable, handlers } from "../examples/esim-state/state.ts";
import { temporaryFolder } from "../packages/store-sqlite/test/temporary-folder.ts";

const empty = {
  ...{ lifecycle_at: null, lifecycle: null },
  ...{ network_at: null, country: null, mcc: null, mnc: null },
  ...{ balance_at: null, balance: null, currency: null },
};

/** What an event changes: its data, and the columns that it sets. */
const change = fc.oneof(
  fc
    .constantFrom(["suspended", "suspended"], ["activated", "active"], ["terminated", "terminated"])
    .map(([type, lifecycle]) => ({
      type: `esim.lifecycle.${type}`,
      data: { lifecycleStatus: lifecycle },
      at: "lifecycle_at",
      columns: { lifecycle },
    })),
  fc
    .record({
      newCountry: fc.constantFrom("BE", "NL", null, undefined),
      newMcc: fc.constantFrom("204", "206", 206, "901"),
      newMnc: fc.constantFrom("08", 8, undefined),
    })
    .map((data) => ({
      type: "esim.mccswitch",
      data,
      at: "network_at",
      columns: { country: data.newCountry ?? "", mcc: `${data.newMcc}`, mnc: `${data.newMnc ?? ""}` },
    })),
  fc
    .record({ balanceAfter: fc.integer({ min: -2, max: 11 }), currency: fc.constantFrom("EUR", "USD") })
    .map((data) => ({
      type: "esim.balance.updated",
      data: { ...data, updateType: "credit", source: "provider", reason: "test", amount: 1 },
      at: "balance_at",
      columns: { balance: data.balanceAfter, currency: data.currency },
    })),
);

const event = fc.record({
  esimReference: fc.constantFrom("one eSIM", "another eSIM"),
  change,
  // few times, so that some are equal, and some differ only by a microsecond
  micros: fc.constantFrom(0, 1, 999, 120_000, 3_600_000_000),
  offsetHours: fc.constantFrom(0, 2, -11),
  hasAllDigits: fc.boolean(),
  // one id twice is a duplicate; the other id is a redelivery of the same event
  deliveries: fc.array(fc.record({ id: fc.constantFrom("one id", "another id"), position: fc.nat() }), {
    minLength: 1,
    maxLength: 4,
  }),
});
type Sent = typeof event extends fc.Arbitrary<infer T> ? T : never;

const startMs = Date.parse("2026-11-20T09:30:00Z");

/** The event's time, as a sender in its time zone may write it. */
function timestampOf({ micros, offsetHours, hasAllDigits }: Sent): string {
  const local = new Date(startMs + Math.floor(micros / 1000) + offsetHours * 3_600_000);
  const sixDigits = `.${String(micros % 1_000_000).padStart(6, "0")}`;
  const fraction = hasAllDigits ? sixDigits : sixDigits.replace(/\.?0+$/, "");
  const zone = `${offsetHours < 0 ? "-" : "+"}${String(Math.abs(offsetHours)).padStart(2, "0")}:00`;
  return `${local.toISOString().slice(0, 19)}${fraction}${offsetHours === 0 ? "Z" : zone}`;
}

/** The rows after all events were applied once, oldest first. Each overwrites its columns. */
function rowsInOrder(events: readonly Sent[]): unknown[] {
  const rows = new Map<string, object>();
  for (const { esimReference, change, micros } of events.toSorted(byTimeAndValues)) {
    const row = rows.get(esimReference) ?? { reference: esimReference, ...empty };
    rows.set(esimReference, { ...row, [change.at]: startMs + micros / 1000, ...change.columns });
  }
  return [...rows.keys()].sort().map((reference) => rows.get(reference));
}

/** Of two events at the same time that set the same columns, the one with the greater values is the later one. */
function byTimeAndValues(one: Sent, other: Sent): number {
  const otherKey = sortKeyOf(other);
  for (const [index, part] of sortKeyOf(one).entries()) {
    const otherPart = otherKey[index] ?? "";
    if (part !== otherPart) return part < otherPart ? -1 : 1;
  }
  return 0;
}

function sortKeyOf({ micros, change: { at, columns } }: Sent): (string | number)[] {
  return [micros, at, ...Object.values(columns)];
}

describe("examples/esim-state", () => {
  it("ends in the same rows for every order in which events, duplicates and redeliveries arrive", async () => {
    const folder = temporaryFolder();
    const path = join(folder.path, "esims.db");
    const store = sqliteStore({ path });
    await store.ready();
    const db = new DatabaseSync(path, { timeout: 5000 });
    onTestFinished(async () => {
      db.close();
      await store.close();
      folder.remove();
    });
    db.exec(esimTable);
    const { process } = createProcessor(handlers, { store });

    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 15 }), async (events) => {
        run += 1;
        db.exec("delete from esim");
        const arriving = events
          .flatMap((sent, number) => sent.deliveries.map((delivery) => ({ sent, number, ...delivery })))
          .toSorted((one, other) => one.position - other.position);
        const ids = new Set<string>();
        for (const { sent, number, id: ofDelivery } of arriving) {
          const id = `run ${run}, event ${number}, ${ofDelivery}`;
          const { change, esimReference } = sent;
          const data = { ...change.data, profileReference: "profile", esimReference };
          const outcome = await process({ id, type: change.type, timestamp: timestampOf(sent), data });
          expect(outcome.code).toBe(ids.has(id) ? "duplicate" : "processed");
          ids.add(id);
        }
        const rows = db.prepare("select * from esim order by reference").all();
        expect(rows.map((row) => ({ ...row }))).toEqual(rowsInOrder(events));
      }),
      { numRuns: 200 },
    );
  });
});
