import type { Inbox, InboxFilter } from "@esim-webhooks/core";
import { entriesOf } from "../../bench/inbox-entries.ts";
import type { EngineName } from "../engines.ts";
import { subjectsOf } from "./copies.ts";
import { rareType } from "./kinds.ts";
import type { Table } from "./table.ts";

/** A call that is timed. `prepare` makes what it needs for one call, untimed. */
export interface Call {
  readonly name: string;
  /** How many calls at most; a slow one is called less often. */
  readonly rounds: number;
  /** The least number of things that each call must answer. */
  readonly least: number;
  /** Resolves to a call, which resolves to the number of things in its answer, or to a function that counts them untimed. */
  prepare(
    table: Table,
    rows: number,
    round: number,
  ): Promise<() => Promise<number | (() => Promise<number>)>>;
}

/** Makes one call. Resolves to its time in ms. Rejects if it answers less than it must. */
export async function timeOnce(
  { name, least, prepare }: Call,
  table: Table,
  rows: number,
  round: number,
): Promise<number> {
  const run = await prepare(table, rows, round);
  const startedAt = performance.now();
  const answer = await run();
  const ms = performance.now() - startedAt;
  const found = typeof answer === "number" ? answer : await answer();
  if (found < least) throw new Error(`${name} answered ${found}, and at least ${least} were expected.`);
  return ms;
}

const batch = 100;
const purged = 500; // as many as a worker purges at a time
const usualRounds = 25;
const pageRows = 50;
/** The done rows that the purge deletes. */
export const expired: number = purged * (usualRounds + 1);
/** A subject has some 20 events; those that were handled inline have none. */
const leastOfSubject = 5;
const dayMs = 86_400_000;

/** How many times as long as on the small table a call may take on the large one. */
const usualRatio = 1.5;
/** These calls read an index of all rows: they may take that many times as long for each row. */
const linearCalls: readonly string[] = ["list by subject, all pages", "erase of a subject's 20 events"];
/** The limits of calls that were measured to take longer than the others on ten times the rows. */
const slowerOn: Readonly<Record<string, Partial<Record<EngineName, number>>>> = {
  [`take of ${batch}`]: { postgres: 2.5 },
  [`purge of ${purged}`]: { postgres: 4 },
};

/** @param growth how many times the rows of the small table the large one has */
export function mostRatio(engine: EngineName, call: string, growth: number): number {
  return linearCalls.includes(call) ? usualRatio * growth : (slowerOn[call]?.[engine] ?? usualRatio);
}

function call(name: string, least: number, prepare: Call["prepare"]): Call {
  return { name, least, rounds: usualRounds, prepare };
}

/** A subject that no other round has. */
const subjectOf = (rows: number, round: number) => `subject_${(round * 7919 + 1) % subjectsOf(rows)}`;

/** Counts the rows of all pages, or of as many as have `enough`. */
async function allPages(
  inbox: Inbox,
  filter: InboxFilter,
  enough = Number.POSITIVE_INFINITY,
): Promise<number> {
  let found = 0;
  for (let cursor: string | null | undefined; cursor !== null && found < enough; ) {
    const { rows, nextCursor } = await inbox.list(filter, {
      limit: pageRows,
      ...(cursor !== undefined && { cursor }),
    });
    found += rows.length;
    cursor = nextCursor;
  }
  return found;
}

const total = (counts: Readonly<Record<string, number>>) => Object.values(counts).reduce((a, b) => a + b, 0);
const rowsOf = async (page: Promise<{ readonly rows: readonly unknown[] }>) => (await page).rows.length;

/** The calls, in the order in which they are made. */
export const calls: readonly Call[] = [
  call(`put of ${batch}`, batch, async ({ inbox }) => {
    const entries = entriesOf(batch, batch);
    return async () => (await inbox.put(entries)).filter((result) => result === "stored").length;
  }),
  call(`take of ${batch}`, batch, async ({ inbox }) => {
    await inbox.put(entriesOf(batch, batch));
    return async () => (await inbox.take({ limit: batch, leaseMs: 600_000 })).length;
  }),
  call(`settle of ${batch}`, batch, async ({ inbox }) => {
    await inbox.put(entriesOf(batch, batch));
    const leases = await inbox.take({ limit: batch, leaseMs: 600_000 });
    const done = leases.map(({ source, id, token }) => ({ source, id, token, state: "done" as const }));
    return async () => (await inbox.settle(done)).filter((isHeld) => isHeld).length;
  }),
  call(
    "list, first page",
    pageRows,
    async ({ inbox }) =>
      () =>
        rowsOf(inbox.list()),
  ),
  call("list, a page in the middle", pageRows, async ({ inbox }) => {
    const { nextCursor } = await inbox.list({ until: new Date(Date.now() - 14 * dayMs) });
    return () => rowsOf(inbox.list({}, { cursor: nextCursor ?? "" }));
  }),
  call("list by subject, a page", 1, async ({ inbox }, rows, round) => {
    const subject = subjectOf(rows, round);
    return async () => {
      await inbox.list({ subject });
      return () => allPages(inbox, { subject }, 1); // a page searches so few events that all rows may follow
    };
  }),
  call("list by type, a page", pageRows, async ({ inbox }) => {
    const filter = { types: [rareType], until: new Date(Date.now() - dayMs) };
    return () => rowsOf(inbox.list(filter));
  }),
  call(
    "gauges",
    1,
    async ({ inbox }) =>
      async () =>
        (await inbox.gauges()).counts.dead,
  ),
  {
    ...call("list by subject, all pages", leastOfSubject, async ({ inbox }, rows, round) => {
      const subject = subjectOf(rows, round);
      return () => allPages(inbox, { subject });
    }),
    rounds: 3,
  },
  {
    ...call("erase of a subject's 20 events", leastOfSubject, async ({ inbox }, rows, round) => {
      const subject = subjectOf(rows, round);
      return () => inbox.erase(subject).then(total);
    }),
    rounds: 9,
  },
  call(
    `purge of ${purged}`,
    purged,
    async ({ inbox }) =>
      () =>
        inbox.purge(purged),
  ),
  {
    ...call("a migration that adds a column", 1, async (table) => () => table.addColumn().then(() => 1)),
    rounds: 5,
  },
];
