import { eraseSubject } from "@esim-webhooks/core";
import { erasedSubject } from "@esim-webhooks/core/engine";
import { latestOnly, postgresCopyTarget } from "@esim-webhooks/store-postgres";
import { sql } from "kysely";
import { expect, it } from "vitest";
import { entry, key } from "../../../test/inbox-entry.ts";
import { postgresUrl as url } from "../../../test/servers/shared.ts";
import { eventRecord } from "./event-record.ts";
import { inboxesOfEachTest } from "./inboxes.ts";

const given = inboxesOfEachTest();
const take = { limit: 100, leaseMs: 60_000 };

it("latestOnly still skips an older event of an eSIM that was erased, and what is kept does not name it", async () => {
  const { open, shop } = given();
  const inbox = open();
  const handled: string[] = [];
  const handle = latestOnly<ReturnType<typeof eventOf>, object>(
    { state: "profile", schema: shop.schema },
    ({ id }) => void handled.push(id),
  );
  const eventOf = (id: string, hour: number) => {
    const timestamp = `2026-01-01T0${hour}:00:00Z`;
    return { id, type: "esim.enabled", timestamp, data: { esimReference: "esim_1" } };
  };
  const run = (id: string, hour: number) =>
    shop.db
      .transaction()
      .execute(async (tx) => handle(eventOf(id, hour), { tx, discard: () => {} } as never));
  const table = sql.id(shop.schema, "latest");
  const rows = async () =>
    (
      await sql<{ subject: string; hour: number }>`
      select subject, extract(hour from occurred_at at time zone 'UTC')::int as hour from ${table} order by subject`.execute(
        shop.db,
      )
    ).rows;
  await run("first", 2);
  await eraseSubject(inbox, "esim_1");
  expect(await rows()).toEqual([{ subject: erasedSubject("esim_1"), hour: 2 }]);
  await run("older", 1);
  await run("newer", 3);
  expect(handled).toEqual(["first", "newer"]);
  await eraseSubject(inbox, "esim_1");
  expect(await rows()).toEqual([{ subject: erasedSubject("esim_1"), hour: 3 }]);
});

it("a copy does not bring back what was erased here", async () => {
  const { open, shop } = given();
  const inbox = open();
  const target = postgresCopyTarget({ url, schema: shop.schema });
  const record = eventRecord("msg_1", { subject: "esim_1" });
  const erased = eventRecord("msg_2", { state: "done", body: null, dueAtMs: null, erasedAtMs: 1000 });
  await target.copyEvents([record, erased]);
  expect((await inbox.get(key("msg_2")))?.erasedAt).toEqual(new Date(1000));
  await eraseSubject(inbox, "esim_1");
  await target.copyEvents([{ ...record, conflicts: 3 }]);
  await target.close();
  expect(await inbox.get(key("msg_1"))).toMatchObject({
    state: "done",
    body: null,
    subject: null,
    error: "erased",
  });
});

it("erases at most `limit` events in a call, those of other workers' leases included", async () => {
  const inbox = given().open();
  await inbox.put(Array.from({ length: 7 }, (_, n) => entry(`msg_${n}`, { esim: "esim_1" })));
  const taken = await inbox.take({ ...take, limit: 3 });
  let [ready, leased] = [0, 0];
  for (let calls = 0; calls < 3; calls += 1) {
    const erased = await inbox.erase("esim_1", 3);
    expect(erased.ready + erased.leased).toBe(calls === 2 ? 1 : 3);
    ready += erased.ready;
    leased += erased.leased;
  }
  expect([ready, leased]).toEqual([4, 3]);
  expect(await inbox.extend(taken, 1000)).toEqual([false, false, false]);
});

it("gives a hint when it erases an event that waits or is leased, since its lane is free", async () => {
  const inbox = given().open({ lane: () => "one" });
  await inbox.put([entry("msg_1", { esim: "esim_1" }), entry("msg_2", { esim: "esim_2" })]);
  expect(await inbox.take(take)).toHaveLength(1);
  let hints = 0;
  const unsubscribe = inbox.onHint?.(() => {
    hints += 1;
  });
  await inbox.erase("esim_3");
  expect(hints).toBe(0);
  await inbox.erase("esim_1");
  expect(hints).toBe(1);
  unsubscribe?.();
  expect(await inbox.take(take)).toHaveLength(1);
});

it("removes the bodies of dead and unhandled events after their time, at most `limit` in a purge", async () => {
  const { open, shop, event } = given();
  const inbox = open({ bodyRetentionMs: 60_000 });
  await inbox.put(Array.from({ length: 6 }, (_, n) => entry(`msg_${n}`)));
  const taken = await inbox.take(take);
  await inbox.settle(
    taken.map((lease, n) =>
      n % 2 === 0 ? { ...lease, state: "unhandled" } : { ...lease, state: "dead", error: "no" },
    ),
  );
  await inbox.purge();
  expect(await inbox.count({ state: "dead" })).toBe(3);
  await sql`update ${event} set settled_at = settled_at - interval '2 minutes', received_at = received_at - interval '2 minutes' where id <> 'msg_0'`.execute(
    shop.db,
  );
  expect(await inbox.purge(3)).toBe(3);
  expect(await inbox.purge()).toBe(2);
  expect(await inbox.purge()).toBe(0);
  expect((await inbox.get(key("msg_0")))?.body).not.toBeNull();
  expect(await inbox.redrive({ state: "unhandled" })).toBe(1);
});
