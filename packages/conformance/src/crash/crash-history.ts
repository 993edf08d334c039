/**
 * A line in the history of a crash test. A process writes each line before its next step. Times are in ms of the machine's
 * monotonic clock. `at`: when the line was written. `since`: when the call was made whose answer the line records.
 */
export type Line =
  /** Ids that an inbox has stored, or a store has marked as done. */
  | { readonly is: "stored"; readonly at: number; readonly ids: readonly string[] }
  | {
      readonly is: "leased";
      readonly at: number;
      readonly since: number;
      readonly id: string;
      readonly token: string;
      readonly leaseMs: number;
    }
  /** Written before the call: a process may be killed during it. */
  | {
      readonly is: "ending";
      readonly at: number;
      readonly id: string;
      readonly token: string;
      readonly done: boolean;
    }
  | {
      readonly is: "ended";
      readonly at: number;
      readonly since: number;
      readonly id: string;
      readonly token: string;
      readonly done: boolean;
      /** The answer: whether the lease was still held. */
      readonly held: boolean;
    }
  /** At the end, once nothing is left to do: whether the store still knows an id. */
  | { readonly is: "known"; readonly at: number; readonly id: string; readonly known: boolean };

type Leased = Extract<Line, { is: "leased" }>;

/** How long a process leases or claims what it takes. */
export const leaseMs = 1000;

/** Reads, from an id, the lane of its event and its place in the lane: the time at which the event occurred, in ms since the Unix epoch. */
export function laneOf(id: string): { readonly lane: string; readonly place: number } {
  const parts = id.split(".");
  return { lane: `lane ${parts.at(-1)}`, place: Number(parts[0]) };
}

/** Returns the broken promises, in sentences; none if all is well. `ordered`: the ids are those of events in lanes. */
export function violations(lines: readonly Line[], { ordered }: { readonly ordered: boolean }): string[] {
  const all = [...lines].sort((a, b) => a.at - b.at);
  const only = <Is extends Line["is"]>(is: Is) =>
    all.filter((line): line is Extract<Line, { is: Is }> => line.is === is);
  const [leases, endings, ends] = [only("leased"), only("ending"), only("ended")];
  const storedAt = new Map(
    only("stored")
      .flatMap(({ ids, at }) => ids.map((id) => [id, at] as const))
      .reverse(),
  );

  const endingsOf = groupBy(endings, ({ token }) => token);
  /** Whether a lease must still have been held at a time: it had not ended by itself, and nothing had begun to end it. */
  const isHeld = ({ token, since, leaseMs }: Leased, at: number) =>
    at < since + leaseMs && !(endingsOf.get(token) ?? []).some((ending) => ending.at < at);
  /** A process may stall between the grant of its lease and its line: the lease with the later line may have been granted first, and have ended. */
  const areHeldTogether = (earlier: Leased, later: Leased) =>
    isHeld(earlier, later.at) && isHeld(later, earlier.at);
  /** Whether something may have made an event done before a time. */
  const endingsOfId = groupBy(endings, ({ id }) => id);
  const mayBeDone = (id: string, at: number) =>
    (endingsOfId.get(id) ?? []).some((ending) => ending.done && ending.at < at);

  const found: string[] = [];
  const byId = groupBy(leases, ({ id }) => id);
  for (const [id, own] of byId)
    for (const [n, later] of own.entries())
      for (const earlier of own.slice(0, n))
        if (earlier.token !== later.token && areHeldTogether(earlier, later))
          found.push(`${id} had two leases at the same time, ${earlier.token} and ${later.token}`);

  for (const { id, token, at, since, done, held } of ends) {
    if (!held) continue;
    for (const lease of byId.get(id) ?? []) {
      if (done && lease.since > at) found.push(`${id} was leased again after it was done`);
      if (lease.token !== token && lease.at < since && lease.since > leaseOf(leases, token).at)
        found.push(`${id} was ended by ${token}, although ${lease.token} had it by then`);
    }
  }

  const storedByLane = groupBy([...storedAt.keys()], (id) => laneOf(id).lane);
  for (const [lane, own] of ordered ? groupBy(leases, ({ id }) => laneOf(id).lane) : [])
    for (const [n, later] of own.entries()) {
      for (const earlier of own.slice(0, n))
        if (earlier.id !== later.id && areHeldTogether(earlier, later))
          found.push(`${later.id} was leased in the lane of ${earlier.id}, which was leased`);
      for (const id of storedByLane.get(lane) ?? []) {
        const isAhead = laneOf(id).place < laneOf(later.id).place;
        if (isAhead && (storedAt.get(id) as number) < later.since && !mayBeDone(id, later.at))
          found.push(`${later.id} was leased before ${id}, which is ahead of it in its lane`);
      }
    }

  for (const { id, known } of only("known")) if (!known) found.push(`${id} was acknowledged and is lost`);
  return [...new Set(found)];
}

function leaseOf(leases: readonly Leased[], token: string): Leased {
  const lease = leases.find((each) => each.token === token);
  if (lease === undefined) throw new Error(`no process leased ${token}`);
  return lease;
}

function groupBy<Item, Key>(items: readonly Item[], keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}
