import { join } from "node:path";
import type { InboxFilter } from "@esim-webhooks/core";
import { rowChange } from "@esim-webhooks/core/engine";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { copied, entryColumns, listed, shown } from "../src/columns.ts";
import type { Connection } from "../src/database/connection.ts";
import { openWriter } from "../src/database/open.ts";
import { inTransaction, type Transaction } from "../src/database/transaction.ts";
import { shortenWaits } from "../src/sql/lease.ts";
import type { Place } from "../src/sql/list.ts";
import * as reads from "../src/sql/reads.ts";
import * as writes from "../src/sql/writes.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const folder = temporaryFolder();
let connection: Connection;
beforeAll(() => {
  connection = openWriter({ path: join(folder.path, "events.db"), durability: "full", busyMs: 100 });
});
afterAll(() => {
  connection.close();
  folder.remove();
});

interface Statement {
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

/** Each statement that `work` runs. */
function statementsOf(work: (tx: Transaction) => unknown): Statement[] {
  const statements: Statement[] = [];
  const recorded = <Name extends "all" | "get" | "run">(name: Name) =>
    ((sql: string, ...parameters: never[]) => {
      statements.push({ sql, parameters });
      return connection[name](sql, ...parameters);
    }) as Connection[Name];
  const prepared: Connection["prepared"] = (sql) => {
    statements.push({ sql, parameters: [] });
    return connection.prepared(sql);
  };
  inTransaction(connection, (tx) =>
    work({ ...tx, all: recorded("all"), get: recorded("get"), run: recorded("run"), prepared }),
  );
  return statements;
}

/** How SQLite goes about each statement that `work` runs. */
function plansOf(work: (tx: Transaction) => unknown): string[] {
  return [...new Set(statementsOf(work).map(({ sql }) => sql))].flatMap(planOf);
}

function planOf(sql: string): string[] {
  return connection.all<{ detail: string }>(`explain query plan ${sql}`).map(({ detail }) => detail);
}

const key = { source: "default", id: "msg_1" };
const held = { key, token: "token" };
const rules = { retentionMs: 1000, keepBodies: false };
const times = { receivedAt: 1, occurredAt: 1 };
const row = {
  ...key,
  type: "a",
  lane: "a",
  body: Buffer.from("a"),
  replay: '{"run":"a"}',
  rebuilt: true,
  fingerprint: 1,
  subject: null,
  key: null,
  trace: null,
  ...times,
};
const dead = { filter: { state: "dead" }, limit: 10 } as const;
const pauses = [{ type: "a", reason: "the CRM is down", until: null, by: null }];
const heldTo = { dueAt: 1, termMs: 0, rowid: 1 };
const unhandled = { filter: { state: "unhandled" }, limit: 10 } as const;

describe("no operation that many events make reads the whole table", () => {
  it.each<[string, (tx: Transaction) => unknown]>([
    [
      "take",
      (tx) =>
        writes.take(tx, {
          limit: 10,
          leaseMs: 1000,
          only: ["a"],
          except: ["b"],
          laneHeldByDead: true,
          after: "",
        }),
    ],
    [
      "take of suspects",
      (tx) => writes.take(tx, { limit: 1, leaseMs: 1000, suspects: true, laneHeldByDead: true, after: "" }),
    ],
    ["put", (tx) => writes.put(tx, { rows: [row, row], columns: entryColumns })],
    ["rerun", (tx) => writes.rerun(tx, { rows: [row], columns: entryColumns })],
    [
      "settle",
      (tx) => {
        const state = "done";
        const change = rowChange({ state });
        return writes.settle(tx, { settlements: [{ ...key, token: "token", state, change }], rules });
      },
    ],
    ["renew", (tx) => writes.renew(tx, { leases: [{ ...key, token: "token" }], leaseMs: 1000 })],
    ["claim", (tx) => writes.claim(tx, { key, leaseMs: 1000, fingerprint: 1 })],
    ["extend", (tx) => writes.extend(tx, { ...held, leaseMs: 1000 })],
    ["complete", (tx) => writes.complete(tx, { ...held, retentionMs: 1000 })],
    ["release", (tx) => writes.release(tx, held)],
    [
      "forget",
      (tx) =>
        writes.forget(tx, {
          ...{ limit: 10, next: { seenMs: 0, heldUntilMs: 0 }, kept: undefined },
          bodyRetentionMs: 1000,
        }),
    ],
    [
      "take of other types than a paused one",
      (tx) => {
        writes.pause(tx, { pauses });
        writes.take(tx, { limit: 10, leaseMs: 1000, laneHeldByDead: true, after: "" });
        return writes.take(tx, { limit: 1, leaseMs: 1000, suspects: true, laneHeldByDead: true, after: "" });
      },
    ],
    ["holding", (tx) => [undefined, { ...heldTo, inLanes: true }].map((after) => writes.hold(tx, { after }))],
    [
      "letting go",
      (tx) => {
        writes.pause(tx, { pauses });
        writes.resume(tx, { types: undefined });
        tx.run("update esim_webhooks_event set state = 'ready', held = 1 where id = ?", key.id);
        return writes.letGo(tx);
      },
    ],
    [
      "erase",
      (tx) => writes.erase(tx, { subject: "E1", replacement: "erased", limit: 10, retentionMs: 1000 }),
    ],
    ["countMinute", (tx) => writes.countMinute(tx, { stored: 1, done: 1, retried: 1, dead: 1 })],
    ["redrive of the dead", (tx) => writes.redrive(tx, dead)],
    ["redrive of the unhandled", (tx) => writes.redrive(tx, unhandled)],
    ["purgeDead", (tx) => writes.purgeDead(tx, dead)],
    ["shortenWaits", shortenWaits],
    [
      "get of an event in a lane",
      (tx) => {
        tx.run("update esim_webhooks_event set state = 'ready', lane = 'a' where id = ?", key.id);
        expect(reads.get(tx, { ...key, columns: shown, laneHeldByDead: true })).toMatchObject({
          row: { lane: "a" },
        });
      },
    ],
    ["eventRecords", (tx) => reads.eventRecords(tx, { columns: copied, after: key })],
    ["gauges", (tx) => reads.gauges(tx, { laneHeldByDead: true })],
    ["count of the dead", (tx) => reads.count(tx, { ...dead, most: undefined })],
    ["count of an eSIM's events", (tx) => reads.count(tx, { filter: { subject: "E1" }, most: 10_000 })],
  ])("%s", (_, work) => {
    const plans = plansOf(work);
    expect(plans.length).toBeGreaterThan(0);
    const scans = plans.filter((detail) =>
      /^SCAN (?!near|head|lane_name|json_each|CONSTANT|esim_webhooks_(?:last_delivery|pause|latest|minute)|known|visited|span|\(subquery|2-ROW VALUES)/.test(
        detail,
      ),
    );
    for (const scan of scans) expect(scan).toMatch(/USING (?:COVERING )?INDEX esim_webhooks_event_/);
  });

  it("shortening what waits reads the indexes of due events alone", () => {
    const plans = plansOf(shortenWaits);
    expect(
      plans.filter((detail) => !/^SEARCH .* USING (?:COVERING )?INDEX esim_webhooks_event_due/.test(detail)),
    ).toEqual([]);
  });

  it("a take of suspects goes to them by their index, and not to the other due events", () => {
    const suspects = { limit: 1, leaseMs: 1000, suspects: true, laneHeldByDead: false, after: "" };
    const plans = plansOf((tx) => writes.take(tx, suspects)).join("\n");
    expect(plans).toMatch(/INDEX esim_webhooks_event_suspect\b/);
    expect(plans).not.toMatch(/INDEX esim_webhooks_event_due/);
  });

  it("a take from lanes reads due events one by one, and stops at the last one that it takes", () => {
    const plans = plansOf((tx) =>
      writes.take(tx, { limit: 10, leaseMs: 1000, laneHeldByDead: false, after: "" }),
    );
    expect(plans).toContain("CO-ROUTINE near");
    expect(plans.join("\n")).not.toMatch(/MATERIALIZE near|USE TEMP B-TREE/);
  });

  it("a take goes to the due events by their indexes, and asks lanes by theirs", () => {
    const deep = { limit: 10, leaseMs: 1000, laneHeldByDead: true, after: "" };
    const rows = Array.from({ length: 1100 }, (_, n) => ({ ...row, id: `held_${n}`, occurredAt: n }));
    const plans = plansOf((tx) => {
      writes.put(tx, { rows, columns: entryColumns });
      return writes.take(tx, deep);
    }).join("\n");
    for (const index of ["due", "due_in_lane", "lane", "lane_leased", "lane_dead", "leased"])
      expect(plans).toMatch(new RegExp(`INDEX esim_webhooks_event_${index}\\b`));
  });

  it.each<[string, InboxFilter]>([
    ["received", {}],
    ["received", { state: "done", types: ["a"], since: new Date(0), until: new Date(1), error: "no" }],
    ["dead", { state: "dead", since: new Date(0) }],
    ["unhandled", { state: "unhandled", source: "default", expiredBy: new Date(0) }],
  ])("a page of a list searches the index %s for %j, in its order", (index, filter) => {
    const after = { receivedAt: 1, id: "a", source: "a" };
    const plans = [undefined, after].flatMap((after) =>
      plansOf((tx) => reads.list(tx, { columns: listed, filter, limit: 10, after })),
    );
    const searched = plans.filter((detail) => /esim_webhooks_event/.test(detail));
    const allowed = new RegExp(`USING (?:COVERING )?INDEX esim_webhooks_event_${index}(?: |$)`);
    for (const detail of searched) expect(detail).toMatch(allowed);
    expect(searched.join("\n")).toContain(`INDEX esim_webhooks_event_${index} `);
    for (const detail of plans.filter((each) => /B-TREE/.test(each))) {
      expect(detail).toMatch(/LAST TERM/); // those of several sources with the same id
    }
  });

  it.each<[InboxFilter, number]>([
    [{ subject: "E1" }, 20_000],
    [{ subject: "E1", state: "done", until: new Date(5) }, 20_000],
    [{ subject: "E1", types: ["none"] }, 20_000],
    [{ types: ["none"] }, 5000],
    [{ state: "dead", source: "none" }, 5000],
  ])(
    "a page for %j ends after %i entries of an index at most, and reads only those, also within a millisecond",
    (filter, most) => {
      const state = filter.state === "dead" ? "dead" : "done";
      const after = { receivedAt: 2, id: "msg_29999", source: "crowd" };
      let next: Place | undefined;
      const recorded = statementsOf((tx) => {
        tx.run(
          `with recursive numbered (n) as (select 0 union all select n + 1 from numbered where n < 29999)
        insert into esim_webhooks_event (source, id, state, received_at, subject)
        select 'crowd', format('msg_%05d', n), ?, 2, iif(n % 1000 = 0, 'E1', 'E2') from numbered`,
          state,
        );
        next = reads.list(tx, { columns: listed, filter, limit: 100, after }).next;
        tx.run("delete from esim_webhooks_event where source = 'crowd'");
      });
      expect(next).toEqual({ receivedAt: 2, id: `msg_${30_000 - most}`, source: "" });
      const [bound, ...others] = recorded.filter(({ sql }) => sql.includes("indexed by"));
      expect(bound?.parameters.at(-1)).toBe(most - 1); // the offset of its one row
      expect(planOf(bound?.sql ?? "")).toEqual([
        expect.stringMatching(/USING COVERING INDEX .*received_at>\? AND \(received_at,id\)<\(\?,\?\)\)$/),
      ]);
      expect(others.length).toBeGreaterThan(0);
      for (const { sql } of others)
        expect(planOf(sql).join("\n")).toContain("((received_at,id)>(?,?) AND (received_at,id)<(?,?))");
    },
  );

  it("a page of a list goes to ids by the index of the keys", () => {
    for (const filter of [{ ids: ["a"] }, { idPrefix: "a", since: new Date(0) }]) {
      const plans = plansOf((tx) => reads.list(tx, { columns: listed, filter, limit: 10, after: undefined }));
      expect(plans.join("\n")).not.toMatch(/SCAN esim_webhooks_event|esim_webhooks_event_received/);
    }
  });

  it("removing bodies goes to the oldest that are kept, and not to those that were removed", () => {
    const clock = { seenMs: 0, heldUntilMs: 0 };
    const input = { limit: 10, next: clock, kept: clock, bodyRetentionMs: 1000 };
    const plans = plansOf((tx) => writes.forget(tx, input)).join("\n");
    expect(plans).toMatch(/SEARCH .* INDEX esim_webhooks_event_kept_body \(settled_at<\?\)/);
  });

  it("holding goes on from where it was, and letting go goes to what is held", () => {
    const after = { inLanes: false, ...heldTo };
    expect(plansOf((tx) => writes.hold(tx, { after })).join("\n")).toMatch(
      /SEARCH .* INDEX esim_webhooks_event_due \(\(due_at,term_ms\)>\(\?,\?\)/,
    );
    const plans = plansOf((tx) => {
      writes.pause(tx, { pauses });
      writes.resume(tx, { types: undefined });
      tx.run("update esim_webhooks_event set state = 'ready', held = 1, type = 'gone' where id = ?", key.id);
      writes.letGo(tx);
    });
    expect(plans.join("\n")).toMatch(/INDEX esim_webhooks_event_held \(type=\?\)/);
  });
});
