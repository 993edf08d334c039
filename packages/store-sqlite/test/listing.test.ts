import { join } from "node:path";
import type { InboxFilter } from "@esim-webhooks/core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
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
    const page = list(connection, { filter, limit, after });
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
    const reached = pages.map(({ searchedTo }) => searchedTo?.getTime() ?? -1);
    expect(reached).toEqual([...reached].sort((a, b) => b - a));
    expect(pages.at(-1)).toMatchObject({ next: undefined, searchedTo: null });
    for (const { rows, searchedTo } of pages)
      for (const { receivedAt } of rows)
        expect(receivedAt?.getTime()).toBeGreaterThanOrEqual(searchedTo?.getTime() ?? 0);
  });

  it("has each event once, the newest first, then by id, and then the ids that were handled inline", () => {
    const numbered = (prefix: string, count: number, digits: number) =>
      Array.from({ length: count }, (_, n) => `${prefix}_${String(n).padStart(digits, "0")}`).reverse();
    const all = [...numbered("msg", 45_000, 5), ...numbered("inline", 7500, 4)];
    expect(idsOf(pagesOf({}, 1000))).toEqual(all);
    expect(idsOf(pagesOf({}, 71))).toEqual(all);
    expect(idsOf(pagesOf({ state: "done", types: ["esim.enabled"] }, 700))).toHaveLength(15_000);
    expect(idsOf(pagesOf({ source: "default" }, 333))).toHaveLength(52_497);
    const even = all.slice(0, 45_000).filter((id) => Number(id.slice(4)) % 2 === 0);
    expect(idsOf(pagesOf({ subject: "E1" }, 1000))).toEqual(even);
    expect(idsOf(pagesOf({ subject: "E1" }, 82))).toEqual(even);
    expect(idsOf(pagesOf({ subject: "E1", state: "dead" }, 700))).toHaveLength(15_000);
  });

  it("searches at most half a million index entries for an eSIM, and says how far it came", () => {
    const folder = temporaryFolder();
    const large = openWriter({ path: join(folder.path, "events.db"), durability: "normal", busyMs: 100 });
    large.exec(`with recursive numbered (n) as (select 0 union all select n + 1 from numbered where n < 500009)
      insert into esim_webhooks_event (source, id, state, received_at, subject)
      select 'default', n, 'done', n / 2, iif(n in (4, 5), 'E1', 'E2') from numbered`);
    const filter = { subject: "E1" };
    const first = list(large, { filter, limit: 50, after: undefined });
    expect(first).toMatchObject({ rows: [], searchedTo: new Date(4) });
    const second = list(large, { filter, limit: 50, after: first.next });
    expect(second).toMatchObject({ rows: [{ id: "5" }, { id: "4" }], next: undefined });
    large.close();
    folder.remove();
  });

  it("finds the events whose ids begin with a text in one page, in the same order", () => {
    const page = list(connection, { filter: { idPrefix: "msg_0000" }, limit: 100, after: undefined });
    expect(page.rows.map(({ id }) => id)).toEqual(Array.from({ length: 10 }, (_, n) => `msg_0000${9 - n}`));
    expect(idsOf(pagesOf({ idPrefix: "inline_00" }, 9))).toHaveLength(100);
    expect(idsOf(pagesOf({ ids: ["msg_00001", "inline_0001", "msg_44999"] }, 1))).toEqual([
      "msg_44999",
      "msg_00001",
      "inline_0001",
    ]);
    expect(idsOf(pagesOf({ idPrefix: "msg_" }, 1000))).toHaveLength(45_000);
  });

  it.each(["msg_\u{10ffff}", "msg_\ud7ff", "msg_~", ""])("takes the prefix %j as it is written", (prefix) => {
    const id = `${prefix}x`;
    const insert =
      "insert into esim_webhooks_event (source, id, state, received_at) values ('p', ?, 'done', 0)";
    connection.run(insert, id);
    const { rows } = list(connection, {
      filter: { idPrefix: prefix, source: "p" },
      limit: 10,
      after: undefined,
    });
    connection.run("delete from esim_webhooks_event where source = 'p'");
    if (prefix !== "") expect(rows.map((row) => row.id)).toEqual([id]);
  });
});
