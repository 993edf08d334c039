// The states of an event's row, and every transition between them, as data. docs/state-machine.md is generated from this table, the
// search explores it, and the row histories of real engines are replayed through it.

export const states = ["ready", "leased", "done", "unhandled", "dead"] as const;
export type State = (typeof states)[number];

/** A row, as far as the transitions depend on it. */
export interface Row {
  /** `absent`: there is no row. */
  readonly state: State | "absent";
  /** Whether its time has come. Ready: it is due. Leased: its lease has ended. Done or unhandled: its retention has ended. */
  readonly ended: boolean;
  readonly body: boolean;
  readonly suspect: boolean;
  /** Ready, and its type is paused: no take reads it. */
  readonly held: boolean;
  readonly erased: boolean;
}

/** The row before a transition. A field that is left out may have any value. */
export type Pattern = Partial<Omit<Row, "state">> & { readonly state: readonly Row["state"][] };

/** The change of a transition. A field that is left out stays as it is. */
export interface Change extends Partial<Omit<Row, "state" | "held">> {
  /** `same`: the state does not change. */
  readonly state: Row["state"] | "same";
  /** `if paused`: if its type is. */
  readonly held?: boolean | "if paused";
  /** `new`: one that no lease has had. `void`: the engine may replace it, since no lease has it. */
  readonly fence?: "new" | "void";
  /** `-1?`: if no handler was started. */
  readonly attempts?: "+1" | "-1" | "-1?" | "0";
  /** The attempts that count towards `maxAttempts`. */
  readonly tries?: "+1" | "-1" | "0";
}

/** Conditions that depend on more than the row itself. */
export const guards = {
  fence: "its fence is passed",
  laneFree: "none of its lane is leased",
  firstInLane: "none before it in its lane is ready",
  noneDeadBefore: "none before it in its lane is dead", // with `laneHeldByDead`
  notPaused: "its type is not paused",
  paused: "its type is paused",
  newRun: "this run has not made it ready before",
} as const;
export type Guard = keyof typeof guards;

export interface Transition {
  /** Markdown. */
  readonly operation: string;
  readonly who: string;
  readonly from: Pattern;
  readonly guards: readonly Guard[];
  readonly to: Change;
  /** The written columns, as Markdown. */
  readonly writes: string;
  /** The table of the page that has it. */
  readonly part: "inbox" | "dedupe";
}

const leased = { state: ["leased"] } as const;
const settled = { part: "inbox", from: leased, guards: ["fence"] } as const;
const inline = "a receiver that handles events inline";

export const table = {
  put: {
    part: "inbox",
    operation: "`put`",
    who: "a receiver, or an import",
    from: { state: ["absent"] },
    guards: [],
    to: {
      state: "ready",
      held: "if paused",
      ended: true,
      body: true,
      fence: "void",
      attempts: "0",
      tries: "0",
    },
    writes:
      "the row, due immediately, with its lane and `replay`. If the id is present: only its count of conflicts; nothing while it is handled inline",
  },
  take: {
    part: "inbox",
    operation: "`take`",
    who: "a worker",
    from: { state: ["ready"], ended: true, held: false, body: true },
    guards: ["laneFree", "firstInLane", "notPaused"],
    to: { state: "leased", ended: false, fence: "new", attempts: "+1", tries: "+1" },
    writes:
      "a new fence, `attempts` and `tries` + 1, the end of the lease. The event that has been due longest goes first. Takes suspects only when called for suspects, and then only those",
  },
  extend: {
    part: "inbox",
    operation: "`extend`",
    who: "a worker, every third of a lease",
    from: leased,
    guards: ["fence"],
    to: { state: "same", ended: false },
    writes: "a later end of the lease",
  },
  "settle done": {
    ...settled,
    operation: "`settle`, done",
    who: "a worker, when the handler has returned",
    to: { state: "done", ended: false, body: false, suspect: false },
    writes: "the end of the retention; removes the error, and the body unless `keepBodies` is set",
  },
  "settle unhandled": {
    ...settled,
    operation: "`settle`, unhandled",
    who: "a worker, if there is no handler",
    to: { state: "unhandled", ended: false, suspect: false, attempts: "-1" },
    writes: "the end of the retention, `attempts` − 1; removes the error, keeps the body",
  },
  "settle retry": {
    ...settled,
    operation: "`settle`, retry",
    who: "a worker, when the handler threw, or did not end within its time limit",
    to: { state: "ready", held: "if paused", ended: false, suspect: false },
    writes: "when it is due again, and the error",
  },
  "settle waiting": {
    ...settled,
    operation: "`settle`, waiting",
    who: "a worker, when the handler called `retryLater`",
    to: { state: "ready", held: "if paused", ended: false, tries: "-1", suspect: false },
    writes:
      "when it is due again, the error, `tries` − 1, and since when it has waited, if it has not waited before",
  },
  "settle put off": {
    ...settled,
    operation: "`settle`, given back for later",
    who: "a worker, when the handler [still runs](#time-limits) from an earlier attempt",
    to: { state: "ready", held: "if paused", ended: false, attempts: "-1", tries: "-1" },
    writes: "the same, except that the time of waiting does not start, and a suspect stays a suspect",
  },
  "settle given back": {
    ...settled,
    operation: "`settle`, given back",
    who: "a worker that stops, or that is too late to start the handler",
    to: { state: "ready", held: "if paused", ended: true, attempts: "-1?", tries: "-1" },
    writes:
      "due immediately, `tries` − 1, and `attempts` − 1 if its handler was not started; a suspect stays a suspect",
  },
  "settle dead": {
    ...settled,
    operation: "`settle`, dead",
    who: "a worker, after the last attempt or for an invalid event",
    to: { state: "dead", ended: false, suspect: false },
    writes: "the error",
  },
  transact: {
    ...settled,
    operation: "`transact`",
    who: "a worker, for a handler that used `context.tx`",
    to: { state: "done", ended: false, body: false, suspect: false },
    writes: "the same as `settle`, in the transaction of the handler's own writes",
  },
  "lease end": {
    part: "inbox",
    operation: "(the lease ends)",
    who: "the next `take`, at most once a second",
    from: { state: ["leased"], ended: true, body: true },
    guards: [],
    to: { state: "ready", held: "if paused", ended: true, suspect: true },
    writes: "due since the end of the lease; an error, if there is none yet",
  },
  redrive: {
    part: "inbox",
    operation: "`redrive`",
    who: 'an operator, for dead events or, with `state: "unhandled"`, for unhandled ones',
    from: { state: ["dead", "unhandled"], body: true },
    guards: [],
    to: { state: "ready", held: "if paused", ended: true, fence: "void", tries: "0" },
    writes: "due immediately, `tries` 0, a step in the history. Keeps the error until the next settlement",
  },
  rerun: {
    part: "inbox",
    operation: "`rerun`",
    who: "an import with `force`",
    from: { state: ["done"], erased: false },
    guards: ["newRun"],
    to: {
      state: "ready",
      held: "if paused",
      ended: true,
      body: true,
      suspect: false,
      fence: "void",
      tries: "0",
    },
    writes: "the body, lane and `replay` of the import's entry; due immediately, `tries` 0. Once per run",
  },
  purge: {
    part: "inbox",
    operation: "`purge`",
    who: "a worker, once a minute",
    from: { state: ["done", "unhandled"], ended: true },
    guards: [],
    to: { state: "absent" },
    writes:
      "deletes at most 500 events, for a tenth of the time at most; none for up to a day after [the clock has jumped ahead](threat-model.md#clocks)",
  },
  "purge bodies": {
    part: "inbox",
    operation: "`purge`, of bodies",
    who: "the same",
    from: { state: ["unhandled", "dead"], body: true },
    guards: [],
    to: { state: "same", body: false },
    writes: "removes the bodies that were settled longer ago than `bodyRetentionMs`, 90 days by default",
  },
  hold: {
    part: "inbox",
    operation: "`pause`",
    who: "an operator; it holds the events in batches",
    from: { state: ["ready"], held: false },
    guards: ["paused"],
    to: { state: "same", held: true },
    writes:
      "the pause; that the event is held. An event that becomes ready during the pause is held immediately",
  },
  "let go": {
    part: "inbox",
    operation: "`resume`, or the pause ends",
    who: "an operator, who lets the events go in batches; the next `take` lets go the rest",
    from: { state: ["ready"], held: true },
    guards: ["notPaused"],
    to: { state: "same", held: false },
    writes: "that the event is not held",
  },
  "run now": {
    part: "inbox",
    operation: '`redrive`, with `state: "ready"`',
    who: "an operator, for events that are due later",
    from: { state: ["ready"], ended: false, body: true },
    guards: [],
    to: { state: "ready", held: "if paused", ended: true, fence: "void", tries: "0" },
    writes:
      "due immediately, `tries` 0, a step in the history. A paused event stays held, and one in a lane waits for those before it",
  },
  "give up": {
    part: "inbox",
    operation: "`giveUp`",
    who: "an operator, for events that wait",
    from: { state: ["ready"] },
    guards: [],
    to: { state: "dead", held: false, ended: false, suspect: false, fence: "void" },
    writes: "the operator's reason as the error, and a step in the history",
  },
  erase: {
    part: "inbox",
    operation: "`erase`",
    who: "an operator, for one eSIM",
    from: { state: ["ready", "leased", "unhandled", "dead"] },
    guards: [],
    to: {
      state: "done",
      ended: false,
      fence: "void",
      body: false,
      suspect: false,
      held: false,
      erased: true,
    },
    writes:
      "`erased_at`, the error `erased`; a new fence; the end of the retention. Removes body, history, lane, subject and trace",
  },
  "erase done": {
    part: "inbox",
    operation: "`erase`",
    who: "the same",
    from: { state: ["done"] },
    guards: [],
    to: { state: "done", fence: "void", body: false, erased: true },
    writes: "the same, but its retention ends when it would have",
  },
  purgeDead: {
    part: "inbox",
    operation: "`purgeDead`",
    who: "an operator",
    from: { state: ["dead"] },
    guards: [],
    to: { state: "absent" },
    writes: "deletes the events that match the filter. Nothing else deletes dead events",
  },
  claim: {
    part: "dedupe",
    operation: "`claim` of an absent id",
    who: inline,
    from: { state: ["absent"] },
    guards: [],
    to: { state: "leased", ended: false, body: false, fence: "new", attempts: "0", tries: "0" },
    writes: "the row, **without a body**: no `take` sees it, and no lease end makes it ready",
  },
  "claim ends": {
    part: "dedupe",
    operation: "`claim` or `put` of an id whose claim has ended",
    who: "any receiver, or an import",
    from: { state: ["leased"], body: false, ended: true },
    guards: [],
    to: { state: "absent" },
    writes: "deletes the row, then writes that of an absent id",
  },
  "retention ends": {
    part: "dedupe",
    operation: "`claim` of an id whose retention has ended",
    who: inline,
    from: { state: ["done", "unhandled"], ended: true },
    guards: [],
    to: { state: "absent" },
    writes: "the same",
  },
  "extend a claim": {
    part: "dedupe",
    operation: "`extend`",
    who: inline,
    from: { state: ["leased"], ended: false },
    guards: ["fence"],
    to: { state: "same", ended: false },
    writes: "a later end of the lease",
  },
  complete: {
    part: "dedupe",
    operation: "`complete`",
    who: inline,
    from: { state: ["leased"], ended: false },
    guards: ["fence"],
    to: { state: "done", ended: false, body: false },
    writes: "the end of the retention: a `put` of that id answers `already_stored`",
  },
  "transact inline": {
    part: "dedupe",
    operation: "`transact`",
    who: inline,
    from: leased,
    guards: ["fence"],
    to: { state: "done", ended: false, body: false },
    writes: "the same, in the transaction of the handler's own writes, and also for a lease that has ended",
  },
  "release a claim": {
    part: "dedupe",
    operation: "`release`",
    who: inline,
    from: { state: ["leased"], ended: false, body: false },
    guards: ["fence"],
    to: { state: "absent" },
    writes: "deletes the row",
  },
} as const satisfies Readonly<Record<string, Transition>>;

export type Name = keyof typeof table;
export type Table = Readonly<Record<Name, Transition>>;

/** The checks of a process before a step that changes no row. */
export const checks = {
  acknowledge: { stored: "a receiver acknowledges an event only when its row is committed with its body" },
  start: {
    inTime: "a handler starts only while its lease has not ended by the worker's own clock",
    notAbandonedHere:
      "a handler does not start while an abandoned one of the same event runs in this process",
    attemptsLeft: "a handler does not start after `maxAttempts` tries",
  },
} as const;
export type Check = keyof typeof checks.acknowledge | keyof typeof checks.start;

/** Where a process can be killed, what it leaves, and what puts it right. */
export const crashPoints = {
  stored: {
    who: "a receiver",
    when: "after `put` was committed and before its answer",
    left: "a ready row, and a sender that has no answer",
    next: "the sender tries again; the answer is `already_stored`",
  },
  taken: {
    who: "a worker",
    when: "after `take` was committed, or before the handler starts",
    left: "a leased row that no process handles",
    next: "the lease ends; the event is a suspect",
  },
  running: {
    who: "a worker",
    when: "while the handler runs",
    left: "the same, and what the handler has done outside of `context.tx`",
    next: "the lease ends, and the handler runs again",
  },
  ended: {
    who: "a worker",
    when: "after the handler has ended and before `settle` was committed",
    left: "the same. The settlement may still arrive later",
    next: "the settlement is written if its fence is the row's; otherwise it changes nothing",
  },
  settled: {
    who: "a worker",
    when: "after `settle` was committed and before its answer",
    left: "a settled row",
    next: "nothing: the row is right",
  },
  claimed: {
    who: "a receiver that handles events inline",
    when: "at any time after `claim`",
    left: "a leased row without a body",
    next: "the lease ends; the sender's next delivery claims the id",
  },
} as const;

/** Whether a row is as a transition requires, apart from its guards. */
export function matches(row: Row, { state, ...marks }: Pattern): boolean {
  return (
    state.includes(row.state) &&
    Object.entries(marks).every(([mark, value]) => row[mark as keyof Row] === value)
  );
}

/** The row after a transition, while its type is paused or is not. */
export function changed(
  row: Row,
  { state, held = row.held, fence: _, attempts: __, tries: ___, ...marks }: Change,
  isPaused: boolean,
): Row {
  if (state === "absent") return absent;
  return {
    ...row,
    ...marks,
    held: held === "if paused" ? isPaused : held,
    state: state === "same" ? row.state : state,
  };
}

export const absent: Row = {
  state: "absent",
  ended: false,
  body: false,
  suspect: false,
  held: false,
  erased: false,
};
