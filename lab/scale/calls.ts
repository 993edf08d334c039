import type { Inbox, InboxFilter } from "@esim-webhooks/core";
import { entriesOf } from "../../bench/inbox-entries.ts";
import { subjectsOf } from "./copies.ts";
import { rareType } from "./kinds.ts";
import type { Table } from "./table.ts";

/** A call that is timed. `prepare` makes what it needs for one call, untimed. */
export interface Call {
  readonly name: string;
  /** How many calls at most; a slow one is called less often. */
  readonly rounds: number;
  prepare(table: Table, rows: number, round: number): Promise<() => Promise<unknown>>;
}

const batch = 100;
const purged = 500; // as many as a worker purges at a time
const purges = 25;
/** The done rows that the purge deletes. */
export const expired: number = purged * (purges + 1);
/** A subject has some 20 events; those that were handled inline have none. */
const leastOfSubject = 5;
const dayMs = 86_400_000;

const settled = async (inbox: Inbox, leases: Awaited<ReturnType<Inbox["take"]>>) => {
  const held = await inbox.settle(
    leases.map(({ source, id, token }) => ({ source, id, token, state: "done" })),
  );
  if (leases.length !== batch || held.includes(false)) throw new Error(`settled ${held}`);
};

function call(name: string, prepare: Call["prepare"], rounds = 25): Call {
  return { name, rounds, prepare };
}

/** A subject that no other round has. */
const subjectOf = (rows: number, round: number) => `subject_${(round * 7919 + 1) % subjectsOf(rows)}`;

async function allPages(inbox: Inbox, filter: InboxFilter): Promise<number> {
  let found = 0;
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await inbox.list(filter, { limit: 50, ...(cursor !== undefined && { cursor }) });
    found += page.rows.length;
    cursor = page.nextCursor;
  }
  return found;
}

async function expect(count: Promise<number>, least: number, what: string): Promise<void> {
  const found = await count;
  if (found < least) throw new Error(`${what}: ${found}, but there are at least ${least}`);
}

const total = (counts: Readonly<Record<string, number>>) => Object.values(counts).reduce((a, b) => a + b, 0);

/** The calls, in the order in which they are made. */
export const calls: readonly Call[] = [
  call(`put of ${batch}`, async ({ inbox }) => {
    const entries = entriesOf(batch, batch);
    return () => inbox.put(entries);
  }),
  call(`take of ${batch}`, async ({ inbox }) => {
    await inbox.put(entriesOf(batch, batch));
    return () =>
      expect(
        inbox.take({ limit: batch, leaseMs: 600_000 }).then(({ length }) => length),
        batch,
        "taken events",
      );
  }),
  call(`settle of ${batch}`, async ({ inbox }) => {
    await inbox.put(entriesOf(batch, batch));
    const leases = await inbox.take({ limit: batch, leaseMs: 600_000 });
    return () => settled(inbox, leases);
  }),
  call(
    "list, first page",
    async ({ inbox }) =>
      () =>
        inbox.list(),
  ),
  call("list, a page in the middle", async ({ inbox }) => {
    const { nextCursor } = await inbox.list({ until: new Date(Date.now() - 14 * dayMs) });
    return () => inbox.list({}, { cursor: nextCursor ?? "" });
  }),
  call(
    "list by subject, a page",
    async ({ inbox }, rows, round) =>
      () =>
        inbox.list({ subject: subjectOf(rows, round) }),
  ),
  call(
    "list by type, a page",
    async ({ inbox }) =>
      () =>
        expect(
          inbox
            .list({ types: [rareType], until: new Date(Date.now() - dayMs) })
            .then(({ rows }) => rows.length),
          50,
          "rows of a type",
        ),
  ),
  call("gauges", async ({ inbox }) => inbox.gauges),
  call(
    "list by subject, all pages",
    async ({ inbox }, rows, round) =>
      () =>
        expect(allPages(inbox, { subject: subjectOf(rows, round) }), leastOfSubject, "events of a subject"),
    3,
  ),
  call(
    "erase of a subject's 20 events",
    async ({ inbox }, rows, round) =>
      () =>
        expect(inbox.erase(subjectOf(rows, round)).then(total), leastOfSubject, "erased events"),
    9,
  ),
  call(
    `purge of ${purged}`,
    async ({ inbox }) =>
      () =>
        expect(inbox.purge(purged), purged, "purged rows"),
    purges,
  ),
  call("a migration that adds a column", async ({ addColumn }) => addColumn, 5),
];
