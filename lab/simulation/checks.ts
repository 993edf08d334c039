import type { Machine, Owner, VirtualTime } from "./virtual-time.ts";

/** A promise that does not hold. */
export class BrokenPromise extends Error {
  override readonly name = "BrokenPromise";
}

/** An event as the service has created it. */
export interface CreatedEvent {
  readonly id: string;
  readonly type: string;
  /** Its number, which is in its data. */
  readonly number: number;
}

/** An event as the inbox must have it, by what the inbox has answered. */
interface Row {
  readonly id: string;
  readonly lane: string | null;
  readonly occurredAt: number;
  state: "ready" | "leased" | "done" | "unhandled" | "dead";
  token: string;
  attempts: number;
  tries: number;
  holder: Owner | undefined;
  leasedAt: number;
  leaseEndsAt: number;
  /** How many commits have applied its handler's writes. */
  effects: number;
}

export interface PutCommit {
  readonly id: string;
  readonly lane: string | null;
  readonly occurredAt: number;
}

export interface TakeCommit {
  readonly id: string;
  readonly token: string;
  readonly attempt: number;
  readonly tries: number;
}

export interface SettleCommit {
  readonly id: string;
  readonly token: string;
  readonly state: string;
  readonly started?: boolean;
}

/** Compares everything that becomes durable, is answered or runs with what is promised. */
export interface Checks {
  readonly counts: Map<string, number>;
  count(what: string): void;
  created(event: CreatedEvent): void;
  /** A receiver has answered 2xx to an authentic delivery. */
  acknowledged(id: string): void;
  /** A receiver has answered a delivery that no key of the endpoint has signed. */
  forged(what: string, status: number): void;
  put(entries: readonly PutCommit[], results: readonly string[]): void;
  taken(holder: Owner, events: readonly TakeCommit[], leaseMs: number): void;
  extended(
    leases: readonly Pick<TakeCommit, "id" | "token">[],
    results: readonly boolean[],
    leaseMs: number,
  ): void;
  settled(settlements: readonly SettleCommit[], results: readonly boolean[]): void;
  applied(lease: Pick<TakeCommit, "id" | "token">, isCommitted: boolean): void;
  redriven(id: string, from: "dead" | "unhandled" | "ready"): void;
  givenUp(id: string): void;
  runStarted(holder: Owner, event: CreatedEvent, attempt: number): void;
  idsIn(state: Row["state"]): readonly string[];
  /** How many events are in the inbox, and neither done, unhandled nor dead. */
  unfinished(): number;
  /** Those, as text. */
  describeUnfinished(): string;
  /** The ids of created events that the inbox does not have. */
  missing(): readonly string[];
  /** Compares the end with the tables of the inbox: the state of each event, and how many effects each has. */
  end(
    states: ReadonlyMap<string, string>,
    effects: ReadonlyMap<string, number>,
    typesWithEffect: ReadonlySet<string>,
  ): void;
}

/** `clockOfStore`: the one by which the inbox measures leases. */
export function createChecks(time: VirtualTime, ordered: boolean, clockOfStore: Machine): Checks {
  const events = new Map<string, CreatedEvent>();
  const rows = new Map<string, Row>();
  const lanes = new Map<string, Set<Row>>();
  const tokens = new Set<string>();
  const counts = new Map<string, number>();
  let unfinished = 0;

  function broken(promise: string): never {
    const error = new BrokenPromise(promise);
    time.fail(error);
    throw error;
  }

  function count(what: string): void {
    counts.set(what, (counts.get(what) ?? 0) + 1);
  }

  function rowOf(id: string, what: string): Row {
    return rows.get(id) ?? broken(`${what}: the inbox never stored ${id}`);
  }

  function isFinal({ state }: Pick<Row, "state">): boolean {
    return state === "done" || state === "unhandled" || state === "dead";
  }

  function move(row: Row, state: Row["state"]): void {
    unfinished += Number(isFinal(row)) - Number(isFinal({ state }));
    row.state = state;
    if (row.lane !== null && isFinal(row)) lanes.get(row.lane)?.delete(row);
    else if (row.lane !== null) lanes.get(row.lane)?.add(row);
    count(state);
  }

  /** Whether the lease of a row may have ended. A clock that was set may have ended it early. */
  function mayHaveEnded({ leaseEndsAt, leasedAt }: Row): boolean {
    return leaseEndsAt <= time.now + 1 || clockOfStore.setAt >= leasedAt;
  }

  function isAhead(row: Row, other: Row): boolean {
    return row.occurredAt !== other.occurredAt ? row.occurredAt < other.occurredAt : row.id < other.id;
  }

  function checkLane(row: Row): void {
    if (!ordered || row.lane === null) return;
    for (const other of lanes.get(row.lane) ?? []) {
      if (other === row) continue;
      if (other.state === "leased" && !mayHaveEnded(other))
        broken(`lane ${row.lane}: ${row.id} was taken while ${other.id} is leased`);
      if (isAhead(other, row))
        broken(`lane ${row.lane}: ${row.id} was taken before ${other.id}, which is ahead of it`);
    }
  }

  function isHeld(row: Row, token: string): boolean {
    return row.state === "leased" && row.token === token;
  }

  return {
    counts,
    count,
    created(event) {
      events.set(event.id, event);
    },
    acknowledged(id) {
      count("acknowledged");
      if (!rows.has(id)) broken(`${id} was acknowledged, and is not stored`);
    },
    forged(what, status) {
      count("forgeries refused");
      if (status < 300) broken(`${what} was answered ${status}`);
    },
    put(entries, results) {
      for (const [index, { id, lane, occurredAt }] of entries.entries()) {
        if (!events.has(id)) broken(`${id} was stored, and the service never sent it`);
        const known = rows.get(id);
        if (results[index] !== "stored") {
          count(`put: ${results[index]}`);
          if (known === undefined) broken(`${id} was called a ${results[index]}, and was never stored`);
          continue;
        }
        if (known !== undefined) broken(`${id} was stored a second time: it was ${known.state}`);
        const row: Row = {
          ...{
            id,
            lane: ordered ? lane : null,
            occurredAt,
            state: "ready",
            token: "",
            attempts: 0,
            tries: 0,
          },
          ...{ holder: undefined, leasedAt: 0, leaseEndsAt: 0, effects: 0 },
        };
        rows.set(id, row);
        if (row.lane !== null) lanes.set(row.lane, (lanes.get(row.lane) ?? new Set()).add(row));
        unfinished += 1;
        count("put: stored");
      }
    },
    taken(holder, taken, leaseMs) {
      for (const { id, token, attempt, tries } of taken) {
        const row = rowOf(id, "taken");
        if (isFinal(row)) broken(`${id} was taken after it was ${row.state}`);
        if (row.state === "leased") {
          if (!mayHaveEnded(row))
            broken(
              `${id} was taken by ${holder.name} while the lease of ${row.holder?.name} is live for ${Math.round(row.leaseEndsAt - time.now)} ms`,
            );
          count("leases ended");
        }
        if (tokens.has(token)) broken(`${id} was taken with the fence ${token}, which was used before`);
        tokens.add(token);
        row.attempts += 1;
        row.tries += 1;
        if (row.attempts !== attempt || row.tries !== tries)
          broken(
            `${id} was taken as attempt ${attempt} and try ${tries}, and it is attempt ${row.attempts} and try ${row.tries}`,
          );
        row.state = "ready"; // for the check of its lane
        checkLane(row);
        row.state = "leased";
        Object.assign(row, { token, holder, leasedAt: time.now, leaseEndsAt: time.now + leaseMs });
      }
    },
    extended(leases, results, leaseMs) {
      for (const [index, { id, token }] of leases.entries()) {
        const row = rowOf(id, "extended");
        if (results[index] && !isHeld(row, token)) broken(`the lease of a late owner of ${id} was extended`);
        if (!results[index] && isHeld(row, token) && !mayHaveEnded(row))
          broken(`the lease of ${id} is held, and was not extended`);
        if (results[index]) Object.assign(row, { leasedAt: time.now, leaseEndsAt: time.now + leaseMs });
      }
    },
    settled(settlements, results) {
      for (const [index, { id, token, state, started }] of settlements.entries()) {
        const row = rowOf(id, "settled");
        if (!results[index]) {
          count("late settlements");
          if (isHeld(row, token) && !mayHaveEnded(row))
            broken(`the settlement of ${id} was refused, and its lease is held`);
          continue;
        }
        if (!isHeld(row, token))
          broken(`${id} was settled as ${state} by a late owner: it is ${row.state}, with another fence`);
        if (state === "waiting" || state === "given_back") row.tries -= 1;
        if ((state === "given_back" && !started) || state === "unhandled") row.attempts -= 1;
        const isReady = state === "retry" || state === "waiting" || state === "given_back";
        move(row, isReady ? "ready" : (state as Row["state"]));
      }
    },
    applied({ id, token }, isCommitted) {
      const row = rowOf(id, "applied");
      if (!isCommitted) return count("transactions rolled back");
      if (!isHeld(row, token))
        broken(`the writes of a late owner of ${id} were applied: it is ${row.state}, with another fence`);
      row.effects += 1;
      move(row, "done");
    },
    redriven(id, from) {
      const row = rowOf(id, "redriven");
      const isReady = row.state === "ready" || (row.state === "leased" && mayHaveEnded(row));
      if (from === "ready" ? !isReady : row.state !== from)
        broken(`${id} was redriven from ${from} while it was ${row.state}`);
      row.tries = 0;
      move(row, "ready");
      count(from === "ready" ? "run now" : "redriven");
    },
    givenUp(id) {
      const row = rowOf(id, "given up");
      const isReady = row.state === "ready" || (row.state === "leased" && mayHaveEnded(row));
      if (!isReady) broken(`${id} was given up while it was ${row.state}`);
      move(row, "dead");
      count("given up");
    },
    runStarted(holder, { id, type, number }, attempt) {
      count("runs");
      const event = events.get(id);
      if (event?.type !== type || event.number !== number)
        broken(`${id} was handled with the data of another event`);
      const row = rowOf(id, "run");
      if (row.state === "done") broken(`${holder.name} started the handler of ${id} after it was done`);
      const isLive = row.state === "leased" && row.holder === holder && row.leaseEndsAt >= time.now;
      if (!isLive && !(clockOfStore.setAt >= row.leasedAt))
        broken(
          `${holder.name} started attempt ${attempt} of ${id} without a live lease: it is ${row.state} of ${row.holder?.name}`,
        );
    },
    idsIn: (state) => [...rows.values()].filter((row) => row.state === state).map(({ id }) => id),
    unfinished: () => unfinished,
    describeUnfinished: () =>
      [...rows.values()]
        .filter((row) => !isFinal(row))
        .slice(0, 5)
        .map(
          ({ id, state, holder, attempts, lane }) =>
            `${id} (lane ${lane}) is ${state}, attempt ${attempts} of ${holder?.name}`,
        )
        .join("; "),
    missing: () => [...events.keys()].filter((id) => !rows.has(id)),
    end(states, effects, typesWithEffect) {
      if (!counts.has("acknowledged")) broken("nothing was acknowledged: the simulation shows nothing");
      for (const { id, type } of events.values()) {
        const row = rowOf(id, "end");
        if (!isFinal(row)) broken(`${id} is still ${row.state} at the end`);
        if (states.get(id) !== row.state)
          broken(`${id} is ${states.get(id)} in the inbox, and was settled as ${row.state}`);
        const expected = row.state === "done" && typesWithEffect.has(type) ? 1 : 0;
        const found = effects.get(id) ?? 0;
        if (found !== expected || row.effects !== expected)
          broken(`${id} is ${row.state} and took effect ${found} times instead of ${expected}`);
      }
      if (states.size !== rows.size)
        broken(`the inbox has ${states.size} events, and has stored ${rows.size}`);
    },
  };
}
