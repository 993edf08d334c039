import { join } from "node:path";
import type { InboxFilter } from "@esim-webhooks/core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listed } from "../src/columns.ts";
import type { Connection } from "../src/database/connection.ts";
import { openWriter } from "../src/database/open.ts";
import { inTransaction } from "../src/database/transaction.ts";
import { type ListedRows, list, type Place } from "../src/sql/list.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const folder = temporaryFolder();
let connection: Connection;
beforeAll(() => {
  connection = openWriter({ path: join(folder.path, "events.db"), durability: "normal", busyMs: 100 });
  inTransaction(connection, (tx) => {
    // each time is that of 3 events; every 15,000th event is rare; at the end 7,500 ids that were handled inline
    tx.exec(`with recursive numbered (n) as (select 0 union all select n + 1 from numbered where n < 44999)
      insert into esim_webhooks_event (source, id, state, type, received_at, subject, error)
      select iif(n % 15000 = 7, 'rare', 'default'), format('msg_%05d', n), case n % 3 when 0 then 'done' else 'dead' end,
        'esim.enabled', n / 3, iif(n % 2 = 0, 'E1', 'E2'), iif(n % 15000 = 7, 'TypeError: rare', 'no SIM') from numbered`);
    tx.exec(`with recursive numbered (n) as (select 0 union all select n + 1 from numbered where n < 7499)
      insert into esim_webhooks_event (source, id, state) select 'default', format('inline_%04d', n), 'done' from numbered`);
  });
});
afterAll(() => {
  connection.close();
  folder.remove();
});

function pagesOf(filter: InboxFilter, limit = 50): ListedRows[] {
  const pages: ListedRows[] = [];
  for (let after: Place | undefined; ; ) {
    const page = list(connection, { columns: listed, filter, limit, after });
    pages.push(page);
    after = page.next;
    if (after === undefined) return pages;
  }
}

const idsOf = (pages: readonly ListedRows[]) => pages.flatMap(({ rows }) => rows.map(({ id }) => id));

describe("a page of a list", () => {
  it.each<[string, InboxFilter, string[]]>([
    ["a source", { source: "rare" }, ["msg_30007", "msg_15007", "msg_00007"]],
    ["a source and a state", { source: "rare", state: "dead" }, ["msg_30007", "msg_15007", "msg_00007"]],
    ["an error", { error: "TypeError" }, ["msg_30007", "msg_15007", "msg_00007"]],
    [
      "an error and a subject",
      { error: "TypeError", subject: "E2" },
      ["msg_30007", "msg_15007", "msg_00007"],
    ],
    ["a type that no event has", { types: ["none"] }, []],
    ["a time and a source", { source: "rare", since: new Date(4000), until: new Date(9000) }, ["msg_15007"]],
  ])("searches some of the events for %s, and says how far it came", (_, filter, expected) => {
    const pages = pagesOf(filter);
    expect(idsOf(pages)).toEqual(expected);
    expect(pages.length).toBeGreaterThan(2);
    const reached = pages.map(({ next }) => next?.receivedAt ?? -1);
    expect(reached).toEqual([...reached].sort((a, b) => b - a));
    for (const { rows, next } of pages)
      for (const { received_at } of rows) expect(received_at).toBeGreaterThanOrEqual(next?.receivedAt ?? 0);
  });

  it("has each event once, the newest first, then by id, and no id that was handled inline", () => {
    const all = Array.from({ length: 45_000 }, (_, n) => `msg_${String(n).padStart(5, "0")}`).reverse();
    expect(idsOf(pagesOf({}, 1000))).toEqual(all);
    expect(idsOf(pagesOf({}, 71))).toEqual(all);
    expect(idsOf(pagesOf({ state: "done", types: ["esim.enabled"] }, 700))).toHaveLength(15_000);
    expect(idsOf(pagesOf({ source: "default" }, 333))).toHaveLength(44_997);
    const even = all.filter((id) => Number(id.slice(4)) % 2 === 0);
    expect(idsOf(pagesOf({ subject: "E1" }, 1000))).toEqual(even);
    expect(idsOf(pagesOf({ subject: "E1" }, 82))).toEqual(even);
    expect(idsOf(pagesOf({ subject: "E1", state: "dead" }, 700))).toHaveLength(15_000);
  });

  it.each<[string, InboxFilter, number]>([
    ["an eSIM", { subject: "E1" }, 20_000],
    ["an eSIM and a state", { subject: "E1", state: "done" }, 20_000],
    ["a type that no event has", { types: ["none"] }, 5000],
    ["dead events of a source that has none", { state: "dead", source: "none" }, 5000],
  ])(
    "for %s covers a bounded part of the events of one millisecond, and continues by id",
    (_, filter, most) => {
      const folder = temporaryFolder();
      const crowded = openWriter({ path: join(folder.path, "events.db"), durability: "normal", busyMs: 100 });
      crowded.run(
        `with recursive numbered (n) as (select 0 union all select n + 1 from numbered where n < 32003)
      insert into esim_webhooks_event (source, id, state, received_at, subject)
      select iif(n % 2 = 0, 'a', 'b'), format('msg_%05d', n / 2), ?, 7, iif(n in (4, 5, 30000), 'E1', 'E2') from numbered`,
        filter.state ?? "done",
      );
      const ids: string[] = [];
      const places: Place[] = [];
      for (let after: Place | undefined; ; ) {
        const page = list(crowded, { columns: listed, filter, limit: 2, after });
        ids.push(...page.rows.map(({ source, id }) => source + id));
        after = page.next;
        if (after === undefined) break;
        expect(after.receivedAt).toBe(7);
        places.push(after);
      }
      expect(ids).toEqual(filter.subject === undefined ? [] : ["amsg_15000", "bmsg_00002", "amsg_00002"]);
      const covered = places.map(
        ({ id, source }, page) =>
          crowded.get<{ events: number }>(
            "select count(*) as events from esim_webhooks_event where (id, source) >= (?, ?) and (id, source) < (?, ?)",
            ...[id, source, places[page - 1]?.id ?? "n", places[page - 1]?.source ?? ""],
          )?.events ?? 0,
      );
      expect(covered.length).toBe(Math.floor(32_004 / most));
      for (const events of covered) expect(events).toBeLessThanOrEqual(most + 1); // another source has the last id, too
      crowded.close();
      folder.remove();
    },
  );

  it("finds the events whose ids begin with a text in one page, in the same order", () => {
    const page = list(connection, {
      columns: listed,
      filter: { idPrefix: "msg_0000" },
      limit: 100,
      after: undefined,
    });
    expect(page.rows.map(({ id }) => id)).toEqual(Array.from({ length: 10 }, (_, n) => `msg_0000${9 - n}`));
    expect(idsOf(pagesOf({ idPrefix: "inline_00" }, 9))).toEqual([]);
    expect(idsOf(pagesOf({ ids: ["msg_00001", "inline_0001", "msg_44999"] }, 1))).toEqual([
      "msg_44999",
      "msg_00001",
    ]);
    expect(idsOf(pagesOf({ idPrefix: "msg_" }, 1000))).toHaveLength(45_000);
  });

  it.each(["msg_\u{10ffff}", "msg_\ud7ff", "msg_~", ""])("takes the prefix %j as it is written", (prefix) => {
    const id = `${prefix}x`;
    const insert =
      "insert into esim_webhooks_event (source, id, state, received_at) values ('p', ?, 'done', 0)";
    connection.run(insert, id);
    const { rows } = list(connection, {
      columns: listed,
      filter: { idPrefix: prefix, source: "p" },
      limit: 10,
      after: undefined,
    });
    connection.run("delete from esim_webhooks_event where source = 'p'");
    if (prefix !== "") expect(rows.map((row) => row.id)).toEqual([id]);
  });
});
