import type { Inbox } from "@esim-webhooks/core";
import { describe, expect, it, onTestFinished } from "vitest";
import { entry, key } from "../inbox-entry.ts";
import { postgresUrl } from "../servers/shared.ts";
import { type Packages, packagesOf } from "./packages.ts";
import { previousPostgres } from "./postgres-place.ts";
import { previousSqlite } from "./sqlite-place.ts";

const lane = ({ data }: { data: object }) => ("esimReference" in data ? String(data.esimReference) : null);

/** The inboxes of the previous and of this version on one database, which was migrated after the previous one had opened it. */
const open: Readonly<Record<string, () => Promise<readonly [Inbox, Inbox]>>> = {
  async Postgres() {
    const { url } = await previousPostgres(postgresUrl, 0);
    return pair((packages) => packages.postgresInbox({ url, lane }) as unknown as Inbox);
  },
  async SQLite() {
    const { path } = previousSqlite(0);
    return pair((packages) => packages.sqliteInbox({ path, lane }) as unknown as Inbox);
  },
};

async function pair(openWith: (packages: Packages) => Inbox): Promise<readonly [Inbox, Inbox]> {
  const previous = openWith(await packagesOf("previous"));
  onTestFinished(() => previous.close());
  await previous.ready?.();
  const present = openWith(await packagesOf("present"));
  onTestFinished(() => present.close());
  await present.migrate?.();
  await present.ready?.();
  return [previous, present];
}

describe.each(Object.entries(open))(
  "on %s, an inbox of the previous version and one of this version",
  (_, both) => {
    it.each([
      ["the previous", 0],
      ["this", 1],
    ])("renew and settle each other's leases: taken by %s version", async (_, first) => {
      const inboxes = await both();
      const [taker, other] = first === 0 ? inboxes : [inboxes[1], inboxes[0]];
      await taker.put([entry("msg_1"), entry("msg_2"), entry("msg_3"), entry("msg_4")]);
      expect(await other.put([entry("msg_1")])).toEqual(["conflict"]);
      const leases = await taker.take({ limit: 4, leaseMs: 60_000 });
      expect(await other.take({ limit: 4, leaseMs: 60_000 })).toEqual([]);
      expect(await other.extend(leases, 60_000)).toEqual([true, true, true, true]);
      const [done, again, dead, waits] = leases.toSorted((a, b) => a.id.localeCompare(b.id));
      if (!done || !again || !dead || !waits) throw new Error("four were put");
      const error = { error: "no answer" };
      expect(
        await other.settle([
          { ...done, state: "done" },
          { ...again, ...error, state: "ready", afterMs: 0 },
          { ...dead, ...error, state: "dead" },
          { ...waits, ...error, state: "waiting", afterMs: 0 },
        ]),
      ).toEqual([true, true, true, true]);
      expect(await taker.settle([{ ...done, state: "done" }])).toEqual([false]);
      const more = await taker.take({ limit: 4, leaseMs: 60_000 });
      expect(more.map(({ id, attempt }) => [id, attempt]).sort()).toEqual([
        ["msg_2", 2],
        ["msg_4", 1],
      ]);
      expect(await other.get(key("msg_3"))).toMatchObject({
        state: "dead",
        error: expect.stringContaining("no answer"),
      });
    });

    it("work a lane one event at a time, in order", async () => {
      const [previous, present] = await both();
      await previous.put([entry("msg_1", { esim: "one", timestamp: "2026-11-20T10:00:00Z" })]);
      await present.put([entry("msg_2", { esim: "one", timestamp: "2026-11-20T10:00:01Z" })]);
      await previous.put([entry("msg_3", { esim: "one", timestamp: "2026-11-20T10:00:02Z" })]);
      const order: string[] = [];
      for (const [taker, other] of [
        [previous, present],
        [present, previous],
        [previous, present],
      ] as const) {
        const [lease, second] = await taker.take({ limit: 10, leaseMs: 60_000 });
        expect(second).toBeUndefined();
        expect(await other.take({ limit: 10, leaseMs: 60_000 })).toEqual([]);
        if (lease === undefined) throw new Error("its lane was free");
        order.push(lease.id);
        await other.settle([{ ...lease, state: "done" }]);
      }
      expect(order).toEqual(["msg_1", "msg_2", "msg_3"]);
    });

    it.each([
      ["the previous", 0],
      ["this", 1],
    ])("take what the other one has leased when the lease ends: leased by %s version", async (_, first) => {
      const inboxes = await both();
      const [taker, other] = first === 0 ? inboxes : [inboxes[1], inboxes[0]];
      await taker.put([entry("msg_1")]);
      const [lost] = await taker.take({ limit: 1, leaseMs: 1 });
      await expect
        .poll(() => other.take({ limit: 1, leaseMs: 60_000, suspects: true }))
        .toMatchObject([{ id: "msg_1", attempt: 2 }]);
      if (lost) expect(await taker.settle([{ ...lost, state: "done" }])).toEqual([false]);
    });
  },
);
