import type { InboxFilter, InboxPage } from "@esim-webhooks/core";
import { writeCursor } from "@esim-webhooks/core/engine";
import { sql } from "kysely";
import { expect, it } from "vitest";
import { entry, key } from "../../../test/inbox-entry.ts";
import { inboxesOfEachTest } from "./inboxes.ts";

const given = inboxesOfEachTest();

async function pages(filter: InboxFilter, limit: number): Promise<InboxPage[]> {
  const inbox = given().open();
  const read: InboxPage[] = [];
  for (let cursor: string | null = null; ; ) {
    const page: InboxPage = await inbox.list(filter, { limit, ...(cursor !== null && { cursor }) });
    read.push(page);
    if (page.nextCursor === null) return read;
    cursor = page.nextCursor;
  }
}

/** 45,000 events of every state, msg_1 the oldest, two of each time. */
async function insert(): Promise<void> {
  const { event, shop } = given();
  await sql`
    insert into ${event} (source, id, state, due_at, type, body, received_at, occurred_at, lane, subject)
    select 'default', 'msg_' || n,
      (array['done', 'ready', 'dead', 'done', 'unhandled', 'leased', 'done'])[1 + n % 7], clock_timestamp() + interval '1 hour',
      case when n % 9001 = 0 then 'esim.rare' else 'esim.enabled' end, '{}', timestamptz '2026-01-01' + n / 2 * interval '1 ms',
      clock_timestamp(), case when n % 2 = 0 then 'lane ' || n end, 'esim_' || n % 15000
    from generate_series(1, 45000) as n`.execute(shop.db);
}

const idsOf = (read: readonly InboxPage[]) => read.flatMap(({ rows }) => rows.map(({ id }) => id));

it("finds the events of a sparse filter across pages, each of which searches a bounded part", async () => {
  await insert();
  const rare = await pages({ types: ["esim.rare"] }, 50);
  expect(idsOf(rare)).toEqual(["msg_36004", "msg_27003", "msg_18002", "msg_9001"]);
  expect(rare.length).toBeGreaterThan(2);
  const times = rare.map(({ searchedTo }) => searchedTo?.getTime() ?? 0);
  expect(times.slice(0, -1).every((time, index) => time > (times[index + 1] ?? 0))).toBe(true);
  expect(rare.at(-1)?.searchedTo).toBeNull();
  const ofOne = await pages({ subject: "esim_77" }, 50);
  expect(idsOf(ofOne)).toEqual(["msg_30077", "msg_15077", "msg_77"]);
  expect(idsOf(await pages({ ids: ["msg_1", "msg_45000"] }, 1))).toEqual(["msg_45000", "msg_1"]);
});

it("lists every event once, newest first, on pages of any size", async () => {
  await insert();
  const all = idsOf(await pages({}, 1000));
  expect(new Set(all).size).toBe(45_000);
  const time = (id = "") => Math.floor(Number(id.slice(4)) / 2);
  const inOrder = (id: string, index: number) => {
    const next = all[index + 1];
    if (next === undefined) return true;
    return time(id) === time(next) ? id > next : time(id) > time(next);
  };
  expect(all.filter((id, index) => !inOrder(id, index))).toEqual([]);
  const dead = idsOf(await pages({ state: "dead", until: new Date("2026-01-01T00:00:01Z") }, 100));
  expect(dead).toEqual(all.filter((id) => Number(id.slice(4)) % 7 === 2 && time(id) < 1000));
});

it("lists no id that was handled inline, of any number", async () => {
  const { open, shop, event } = given();
  await open().put([entry("msg_b"), entry("msg_z")]);
  await sql`
    insert into ${event} (source, id, state, kept_until)
    select 'default', 'msg_0' || n, 'done', clock_timestamp() from generate_series(1000, 1999) as n`.execute(
    shop.db,
  );
  expect(idsOf(await pages({}, 30))).toEqual(["msg_z", "msg_b"]);
  expect(idsOf(await pages({ state: "done" }, 600))).toEqual([]);
  expect(idsOf(await pages({ idPrefix: "msg_0" }, 10))).toEqual([]);
});

it("counts up to a limit, and all events of an eSIM", async () => {
  await insert();
  const inbox = given().open();
  expect(await inbox.count({ types: ["esim.enabled"] }, 10_001)).toBe(10_001);
  expect(await inbox.count({ subject: "esim_77" })).toBe(3);
  expect(await inbox.count({ subject: "esim_77" }, 2)).toBe(2);
});

it("refuses a cursor whose time is not one that it wrote", async () => {
  const cursor = writeCursor({ receivedAt: "2026-01-01T00:00:00Z", ...key("msg_1") });
  await expect(given().open().list({}, { cursor })).rejects.toMatchObject({ code: "invalid_input" });
});
