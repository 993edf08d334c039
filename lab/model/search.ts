// A breadth-first search over every order of the steps that receivers, workers, operators, crashes and clocks can make with a few
// events. The rules are those of the table; a rule that is removed must be missed by an invariant.
import { Broken, type Explored, explore, type Emit as Step } from "./explore.ts";
import {
  absent,
  type Check,
  changed,
  checks,
  crashPoints,
  type Guard,
  type Name,
  type Row,
  type Table,
  table,
} from "./state-machine.ts";

/** An event of the search. */
export interface EventPlan {
  /** Events of the same lane are in order. Null: it is in no lane. */
  readonly lane: string | null;
  /** Whether the operator's pause is of its type. */
  readonly pausable: boolean;
  /** Whether workers have a handler for its type. */
  readonly handled: boolean;
}

/** The bounds of the search. */
export interface Bounds {
  readonly name: string;
  readonly events: readonly EventPlan[];
  /** A worker takes events from the inbox. A processor claims them inline. */
  readonly actors: readonly ("worker" | "processor")[];
  readonly maxAttempts: number;
  /** How many things of these kinds happen in one run at most, all kinds together. */
  readonly disturbances: number;
  readonly kinds: readonly Disturbance[];
}

export const disturbances = [
  "crash",
  "retry",
  "timeout",
  "redrive",
  "giving up",
  "pause",
  "erasure",
  "rerun",
  "purge",
] as const;
export type Disturbance = (typeof disturbances)[number];

/** The rules that processes follow: the table, and what they check before other steps. */
export interface Rules {
  readonly table: Table;
  readonly checks: ReadonlySet<Check>;
}

export const rules: Rules = {
  table,
  checks: new Set([...Object.keys(checks.acknowledge), ...Object.keys(checks.start)] as Check[]),
};

export interface Result extends Explored {
  /** The transitions that were made at least once. */
  readonly used: ReadonlySet<Name>;
}

interface Event extends Row {
  readonly tries: number;
  readonly acknowledged: boolean;
  /** Whether a worker or processor got the answer that the event is done, and no operator has asked for it again. */
  readonly isDone: boolean;
  /** Its row was deleted, by a rule that may. */
  readonly isGone: boolean;
  readonly reruns: number;
}

/** How a lease is to end. */
type Ending = "done" | "unhandled" | "retry" | "waiting" | "put off" | "given back" | "dead" | "release";

/** The state of a worker or a processor. */
interface Actor {
  /** The event that it has, by index; −1 for none. */
  readonly event: number;
  readonly phase: "idle" | "taken" | "running" | "ended";
  readonly ending: Ending;
  /** Whether its fence is that of the row. */
  readonly isCurrent: boolean;
  /** Whether its lease lasts, by its own clock, which ends it no later than the inbox's. */
  readonly believes: boolean;
  /** The events whose abandoned handlers still run in this process: a bit each. */
  readonly abandoned: number;
}

/** A settlement that is under way after its sender has died. */
interface Late {
  readonly event: number;
  readonly ending: Ending;
  readonly isCurrent: boolean;
}

interface System {
  readonly events: readonly Event[];
  readonly actors: readonly Actor[];
  readonly late: Late | undefined;
  readonly isPaused: boolean;
  /** How many disturbances may still happen. */
  readonly left: number;
}

const endings: readonly Ending[] = [
  "done",
  "unhandled",
  "retry",
  "waiting",
  "put off",
  "given back",
  "dead",
  "release",
];
const phases = ["idle", "taken", "running", "ended"] as const;
const rowStates = ["absent", "ready", "leased", "done", "unhandled", "dead"] as const;

const idle: Actor = {
  event: -1,
  phase: "idle",
  ending: "done",
  isCurrent: false,
  believes: false,
  abandoned: 0,
};

type Emit = Step<System>;

/** Explores all states within the bounds, the nearest first, until an invariant does not hold. */
export function search(bounds: Bounds, { table, checks }: Rules = rules): Result {
  const { events: plans, maxAttempts } = bounds;
  const hasWorkers = bounds.actors.includes("worker");
  const hasProcessors = bounds.actors.includes("processor");
  const used = new Set<Name>();
  const compiled = compile(table);
  const names = plans.map((_, index) => `event ${index + 1}`);
  const actorNames = bounds.actors.map((kind, index) => `${kind} ${"ABC"[index]}`);

  const isAllowed: Record<Guard, (system: System, index: number, isCurrent: boolean) => boolean> = {
    fence: (_, __, isCurrent) => isCurrent,
    laneFree: ({ events }, index) =>
      plans[index]?.lane == null ||
      !events.some(
        (other, at) => at !== index && sameLane(at, index) && isInLane(other) && other.state === "leased",
      ),
    firstInLane: ({ events }, index) =>
      plans[index]?.lane == null ||
      !events.some(
        (other, at) => at < index && sameLane(at, index) && isInLane(other) && other.state === "ready",
      ),
    noneDeadBefore: ({ events }, index) =>
      plans[index]?.lane == null ||
      !events.some(
        (other, at) => at < index && sameLane(at, index) && isInLane(other) && other.state === "dead",
      ),
    notPaused: ({ isPaused }, index) => !(isPaused && plans[index]?.pausable),
    paused: ({ isPaused }, index) => isPaused && plans[index]?.pausable === true,
    newRun: ({ events }, index) => events[index]?.reruns === 0,
  };

  function sameLane(a: number, b: number): boolean {
    return plans[a]?.lane === plans[b]?.lane;
  }

  /** The system after a transition of one row, or undefined if the rules refuse it. */
  function make(system: System, name: Name, index: number, isCurrent = false): System | undefined {
    const event = at(system.events, index);
    const { guards, to } = table[name];
    if (!compiled[name](event)) return undefined;
    if (!guards.every((guard) => isAllowed[guard](system, index, isCurrent))) return undefined;
    used.add(name);
    const row = changed(event, to, isAllowed.paused(system, index, isCurrent));
    const tries = Math.max(
      0,
      to.tries === "0" ? 0 : event.tries + (to.tries === "+1" ? 1 : to.tries === "-1" ? -1 : 0),
    );
    const next = withEvent(system, index, { ...event, ...row, tries });
    return to.fence === "new" || to.state === "absent" ? withStaleFences(next, index) : next;
  }

  function attempt(emit: Emit, step: string, system: System, name: Name, index: number): void {
    const next = make(system, name, index);
    if (next !== undefined) emit(step, next);
  }

  /** Ends a lease as the rules allow, and keeps what its owner was answered. */
  function settle(
    system: System,
    index: number,
    ending: Ending,
    isCurrent: boolean,
    isInline: boolean,
  ): System | undefined {
    const before = at(system.events, index);
    for (const name of namesOf(ending, isInline)) {
      const next = make(system, name, index, isCurrent);
      if (next === undefined) continue;
      if (ending !== "done") return next;
      if (before.isDone) throw new Broken(`${names[index]} was settled as done twice`);
      return withEvent(next, index, { ...at(next.events, index), isDone: true });
    }
    return undefined;
  }

  /** The system with a row gone that is as good as absent; the same system if it is not. */
  function freed(system: System, index: number, names: readonly Name[]): System {
    return names.map((name) => make(system, name, index)).find((next) => next !== undefined) ?? system;
  }

  function take(before: System, actor: number, name: Name, index: number): System | undefined {
    const system = name === "claim" ? freed(before, index, ["claim ends", "retention ends"]) : before;
    const next = make(system, name, index);
    if (next === undefined) return undefined;
    const event = at(system.events, index);
    const { state, ended } = at(before.events, index);
    const isExpired = ended && (state === "done" || state === "unhandled");
    if (event.erased) throw new Broken(`${names[index]} was taken after it was erased`);
    if (name === "take") {
      if (system.isPaused && plans[index]?.pausable)
        throw new Broken(`${names[index]} was taken although its type is paused`);
      checkOrder(system, index);
    }
    const isDone = event.isDone && !isExpired;
    const reset = withEvent(next, index, { ...at(next.events, index), isDone });
    const taken = {
      ...at(reset.actors, actor),
      event: index,
      phase: "taken",
      isCurrent: true,
      believes: true,
    } as const;
    return withActor(reset, actor, taken);
  }

  /** Checks that earlier events of its lane, as far as they were stored by then, are settled. */
  function checkOrder({ events }: System, index: number): void {
    if (plans[index]?.lane == null) return;
    for (let other = 0; other < index; other += 1) {
      const { state } = at(events, other);
      if (sameLane(other, index) && isInLane(at(events, other)) && (state === "ready" || state === "leased"))
        throw new Broken(`${names[index]} was taken before ${names[other]}, which is before it in its lane`);
    }
  }

  function receive(system: System, emit: Emit): void {
    if (!hasWorkers) return;
    for (const [index, event] of system.events.entries()) {
      if (event.isGone) continue;
      const name = names[index];
      const stored = make(freed(system, index, ["claim ends"]), "put", index);
      if (stored !== undefined) {
        // From now on the event may be acknowledged. A receiver that is killed before has stored it all the same.
        emit(
          `A receiver stores ${name}.`,
          withEvent(stored, index, { ...at(stored.events, index), acknowledged: true }),
        );
        if (hasProcessors) emit(`A receiver stores ${name}, and is killed before it answers.`, stored);
      }
      const isStored = event.state !== "absent" && !(event.state === "leased" && !event.body);
      if (!event.acknowledged && (isStored || !checks.has("stored")))
        emit(`A receiver acknowledges ${name}.`, withEvent(system, index, { ...event, acknowledged: true }));
    }
  }

  /** Time passes: each time of a row may come before all else. A worker's clock ends its lease no later than the inbox's. */
  function pass(system: System, emit: Emit): void {
    for (const [index, event] of system.events.entries()) {
      const isTimed = event.state !== "absent" && event.state !== "dead";
      if (event.ended || !isTimed) continue;
      if (event.state === "done" || event.state === "unhandled") {
        if (system.actors.some((actor) => actor.event === index && actor.believes)) continue; // a retention is longer than a lease
        disturb(system, "purge", (next) =>
          emit(
            `The end of the retention of ${names[index]} comes.`,
            withEvent(next, index, { ...event, ended: true }),
          ),
        );
        continue;
      }
      const next = withEvent(system, index, { ...event, ended: true });
      const actors = next.actors.map((actor) =>
        actor.event === index && actor.isCurrent && event.state === "leased"
          ? { ...actor, believes: false }
          : actor,
      );
      emit(
        event.state === "ready"
          ? `${names[index]} becomes due.`
          : `The end of the lease on ${names[index]} comes.`,
        { ...next, actors },
      );
    }
  }

  function operate(system: System, emit: Emit): void {
    for (const [index, event] of system.events.entries()) {
      const name = names[index];
      attempt(
        emit,
        `The next take makes ${name} ready again: its lease has ended.`,
        system,
        "lease end",
        index,
      );
      attempt(emit, `The pause holds ${name}.`, system, "hold", index);
      attempt(emit, `The end of the pause lets ${name} go.`, system, "let go", index);
      disturb(system, "redrive", (next) =>
        attempt(emit, `An operator redrives ${name}.`, next, "redrive", index),
      );
      disturb(system, "redrive", (next) =>
        attempt(emit, `An operator makes ${name} due now.`, next, "run now", index),
      );
      disturb(system, "giving up", (next) =>
        attempt(emit, `An operator gives ${name} up.`, next, "give up", index),
      );
      disturb(system, "rerun", (next) => {
        const rerun = make(next, "rerun", index);
        if (rerun === undefined) return;
        if (event.reruns > 0) throw new Broken(`${name} was run again twice by one run`);
        const again = { ...at(rerun.events, index), isDone: false, reruns: event.reruns + 1 };
        emit(`An import with force runs ${name} again.`, withEvent(rerun, index, again));
      });
      disturb(system, "erasure", (next) => {
        attempt(emit, `An operator erases ${name}.`, next, "erase", index);
        attempt(emit, `An operator erases ${name}.`, next, "erase done", index);
      });
      if (bounds.kinds.includes("purge")) {
        const purged = make(system, "purge", index);
        const mayBe = (event.state === "done" || event.state === "unhandled") && event.ended;
        if (purged !== undefined)
          emit(
            `The purge deletes ${name}.`,
            withEvent(purged, index, {
              ...at(purged.events, index),
              isGone: mayBe,
              isDone: event.isDone && !mayBe,
            }),
          );
      }
      disturb(system, "purge", (next) => {
        attempt(emit, `The purge removes the body of ${name}.`, next, "purge bodies", index);
        const deleted = make(next, "purgeDead", index);
        const mayBe = event.state === "dead";
        if (deleted !== undefined)
          emit(
            `An operator deletes ${name}, which is dead.`,
            withEvent(deleted, index, { ...at(deleted.events, index), isGone: mayBe }),
          );
      });
    }
    if (system.isPaused) emit("An operator resumes.", { ...system, isPaused: false });
    else
      disturb(system, "pause", (next) =>
        emit("An operator pauses the type of event 1.", { ...next, isPaused: true }),
      );
  }

  function act(system: System, index: number, emit: Emit): void {
    const actor = at(system.actors, index);
    const name = actorNames[index];
    const isInline = bounds.actors[index] === "processor";
    const put = (next: System, changes: Partial<Actor>) =>
      withActor(next, index, { ...at(next.actors, index), ...changes });
    const free = (next: System) => put(next, { ...idle, abandoned: at(next.actors, index).abandoned });
    for (const event of plans.keys())
      if (actor.abandoned & (1 << event))
        emit(
          `The abandoned handler of ${names[event]} ends in ${name}.`,
          put(system, { abandoned: actor.abandoned & ~(1 << event) }),
        );
    if (actor.phase === "idle") {
      for (const event of plans.keys()) {
        if (isInline && (at(system.events, event).isGone || at(system.events, event).acknowledged)) continue;
        const taken = take(system, index, isInline ? "claim" : "take", event);
        if (taken !== undefined) emit(`${name} ${isInline ? "claims" : "takes"} ${names[event]}.`, taken);
      }
      return;
    }
    const { event, phase } = actor;
    const about = names[event];
    const end = (next: System, ending: Ending) => put(next, { phase: "ended", ending, believes: false });
    const row = at(system.events, event);
    disturb(system, "crash", (next) => {
      const dead = put(next, idle);
      emit(`${name} is killed ${(isInline ? crashPoints.claimed : crashPoints[phase]).when}.`, dead);
      if (phase === "ended" && system.late === undefined)
        emit(`${name} is killed, and its settlement of ${about} is under way.`, {
          ...dead,
          late: { event, ending: actor.ending, isCurrent: actor.isCurrent },
        });
      if (!isInline && phase !== "ended")
        emit(
          `${name} stops and gives ${about} back.`,
          free(settle(next, event, "given back", actor.isCurrent, false) ?? next),
        );
    });
    switch (phase) {
      case "taken": {
        const isAbandoned = (actor.abandoned & (1 << event)) !== 0;
        if (!isInline && row.tries > maxAttempts && checks.has("attemptsLeft"))
          emit(`${name} finds that ${about} has had its attempts.`, end(system, "dead"));
        else if (!isInline && isAbandoned && checks.has("notAbandonedHere"))
          emit(`${name} puts ${about} off: its abandoned handler still runs.`, end(system, "put off"));
        else if (!isInline && !plans[event]?.handled)
          emit(`${name} has no handler for ${about}.`, end(system, "unhandled"));
        else if (!actor.believes && checks.has("inTime"))
          emit(
            `${name} is too late to start the handler of ${about}.`,
            end(system, isInline ? "release" : "given back"),
          );
        else {
          if (isAbandoned)
            throw new Broken(
              `the handler of ${about} was started while an abandoned one runs in the same process`,
            );
          if (row.isDone) throw new Broken(`the handler of ${about} was started although the event is done`);
          if (!isInline && row.tries > maxAttempts)
            throw new Broken(`the handler of ${about} was started more often than maxAttempts`);
          emit(`${name} starts the handler of ${about}.`, put(system, { phase: "running" }));
        }
        return;
      }
      case "running": {
        const failure = isInline ? "release" : row.tries >= maxAttempts ? "dead" : "retry";
        emit(`The handler of ${about} returns in ${name}.`, end(system, "done"));
        disturb(system, "retry", (next) => {
          emit(`The handler of ${about} throws in ${name}.`, end(next, failure));
          if (!isInline) emit(`The handler of ${about} calls retryLater in ${name}.`, end(next, "waiting"));
        });
        if (!isInline)
          disturb(system, "timeout", (next) =>
            emit(
              `The handler of ${about} runs too long in ${name} and is abandoned.`,
              put(end(next, failure), { abandoned: actor.abandoned | (1 << event) }),
            ),
          );
        const committed = transacted(system, event, actor, isInline);
        emit(
          `${name} commits what the handler of ${about} wrote${committed === undefined ? ": refused, its lease is lost" : ""}.`,
          free(committed ?? system),
        );
        const renewed = make(system, isInline ? "extend a claim" : "extend", event, actor.isCurrent);
        if (renewed !== undefined && row.ended)
          emit(`A late renewal of ${about} by ${name} arrives.`, renewed);
        return;
      }
      case "ended": {
        const settled = settle(system, event, actor.ending, actor.isCurrent, isInline);
        const step = `${name} settles ${about} as ${actor.ending}`;
        if (settled === undefined) {
          emit(`${step}: refused, its lease is lost.`, free(system));
          return;
        }
        emit(`${step}.`, free(settled));
        if (actor.ending !== "done" || !isInline) emit(`${step}; the answer is lost.`, settled);
        return;
      }
    }
  }

  function transacted(
    system: System,
    event: number,
    { isCurrent }: Actor,
    isInline: boolean,
  ): System | undefined {
    const next = make(system, isInline ? "transact inline" : "transact", event, isCurrent);
    if (next === undefined) return undefined;
    if (at(system.events, event).isDone)
      throw new Broken(`the effect of ${names[event]} was committed twice`);
    return withEvent(next, event, { ...at(next.events, event), isDone: true });
  }

  function arrive(system: System, emit: Emit): void {
    const { late } = system;
    if (late === undefined) return;
    const { event, ending, isCurrent } = late;
    const settled = settle(system, event, ending, isCurrent, ending === "release");
    emit(
      `The late settlement of ${names[event]} as ${ending} arrives${settled === undefined ? ": refused" : ""}.`,
      { ...(settled ?? system), late: undefined },
    );
  }

  function disturb(system: System, kind: Disturbance, then: (next: System) => void): void {
    if (system.left > 0 && bounds.kinds.includes(kind)) then({ ...system, left: system.left - 1 });
  }

  function successors(system: System, emit: Emit): void {
    receive(system, emit);
    pass(system, emit);
    operate(system, emit);
    arrive(system, emit);
    for (const index of system.actors.keys()) act(system, index, emit);
  }

  /** Checks the promises in a state. Throws `Broken`. */
  function check(system: System): void {
    const { events, actors } = system;
    for (const [index, event] of events.entries()) {
      const name = names[index];
      if (event.acknowledged && event.state === "absent" && !event.isGone)
        throw new Broken(`${name} was acknowledged and is in no state`);
      if (event.isDone && event.state !== "done")
        throw new Broken(`${name} was settled as done, and the result is lost`);
      if (event.state === "ready" && !event.body) throw new Broken(`${name} is to run, and has no body`);
      let live = 0;
      for (const actor of actors) {
        if (actor.event !== index || !actor.believes) continue;
        live += 1;
        if (live > 1) throw new Broken(`two live leases for ${name}`);
        if (!event.erased && (event.state !== "leased" || !actor.isCurrent))
          throw new Broken(`the live lease on ${name} was ended by another`);
      }
      if (plans[index]?.lane == null || event.state !== "leased" || !isInLane(event)) continue;
      for (let other = 0; other < index; other += 1)
        if (sameLane(other, index) && isInLane(at(events, other)) && at(events, other).state === "leased")
          throw new Broken(`${names[other]} and ${name} are leased, and are in one lane`);
    }
    checkThatLanesMove(system);
  }

  /** An event that is due, not paused, and that no other of its lane precedes can be taken by a worker that is idle. */
  function checkThatLanesMove(system: System): void {
    const { events, actors } = system;
    if (!actors.some(({ phase }, index) => phase === "idle" && bounds.actors[index] === "worker")) return;
    for (const [index, { state, ended, held, body }] of events.entries()) {
      if (state !== "ready" || !ended || held || !body || (system.isPaused && plans[index]?.pausable))
        continue;
      const isHeld = events.some(
        (other, place) =>
          plans[index]?.lane != null &&
          place !== index &&
          sameLane(place, index) &&
          (other.state === "leased" || (other.state === "ready" && place < index)),
      );
      if (!isHeld && make(system, "take", index) === undefined)
        throw new Broken(`${names[index]} is due, and cannot be taken`);
    }
  }

  /** Throws `Broken` if nothing can happen any more, and an event is not settled. */
  function checkEnd({ events }: System): void {
    for (const [index, { state, isGone }] of events.entries())
      if ((state === "ready" || state === "leased") && !isGone)
        throw new Broken(`${names[index]} waits indefinitely`);
  }

  const first: System = {
    events: plans.map(() => ({
      ...absent,
      tries: 0,
      acknowledged: false,
      isDone: false,
      isGone: false,
      reruns: 0,
    })),
    actors: bounds.actors.map(() => idle),
    late: undefined,
    isPaused: false,
    left: bounds.disturbances,
  };
  const isSymmetric = bounds.actors.length === 2 && bounds.actors[0] === bounds.actors[1];
  const explored = explore<System>({
    first,
    successors,
    check,
    checkEnd: (system) => hasWorkers && checkEnd(system),
    encode: isSymmetric ? canonical : encode,
    decode: (text) => decode(text, plans.length, bounds.actors.length),
  });
  return { ...explored, used };
}

function namesOf(ending: Ending, isInline: boolean): readonly Name[] {
  if (ending === "release") return ["release a claim"];
  return isInline ? ["complete"] : [`settle ${ending}`];
}

/** Rows that were claimed inline are in no lane. */
function isInLane({ body }: Row): boolean {
  return body;
}

function withEvent(system: System, index: number, event: Event): System {
  return { ...system, events: system.events.map((other, place) => (place === index ? event : other)) };
}

function withActor(system: System, index: number, actor: Actor): System {
  return { ...system, actors: system.actors.map((other, place) => (place === index ? actor : other)) };
}

/** Makes every fence of this event that a process has an old one. */
function withStaleFences(system: System, index: number): System {
  const { late } = system;
  return {
    ...system,
    actors: system.actors.map((actor) => (actor.event === index ? { ...actor, isCurrent: false } : actor)),
    late: late?.event === index ? { ...late, isCurrent: false } : late,
  };
}

/** For each transition, a function that says whether a row is as it requires. */
function compile(table: Table): Record<Name, (row: Row) => boolean> {
  const marks = ["ended", "body", "suspect", "held", "erased"] as const;
  return Object.fromEntries(
    Object.entries(table).map(([name, { from }]) => {
      const required = marks.filter((mark) => from[mark] !== undefined);
      return [
        name,
        (row: Row) => from.state.includes(row.state) && required.every((mark) => row[mark] === from[mark]),
      ];
    }),
  ) as Record<Name, (row: Row) => boolean>;
}

function at<Item>(items: readonly Item[], index: number): Item {
  return items[index] as Item;
}

/** The same text for systems that differ only in which of two equal workers is which. */
function canonical(system: System): string {
  const [a, b] = system.actors;
  const key = encode(system);
  const swapped = encode({ ...system, actors: [b as Actor, a as Actor] });
  return key < swapped ? key : swapped;
}

/** A system as text, two characters for an event and two for an actor. */
function encode({ events, actors, late, isPaused, left }: System): string {
  let text = "";
  for (const event of events) {
    text += String.fromCharCode(
      rowStates.indexOf(event.state) |
        (Number(event.ended) << 3) |
        (Number(event.body) << 4) |
        (Number(event.suspect) << 5) |
        (Number(event.held) << 6) |
        (Number(event.erased) << 7),
      event.tries |
        (Number(event.acknowledged) << 3) |
        (Number(event.isDone) << 4) |
        (Number(event.isGone) << 5) |
        (event.reruns << 6),
    );
  }
  for (const actor of actors) {
    text += String.fromCharCode(
      (actor.event + 1) |
        (phases.indexOf(actor.phase) << 2) |
        (Number(actor.isCurrent) << 4) |
        (Number(actor.believes) << 5),
      endings.indexOf(actor.ending) | (actor.abandoned << 3),
    );
  }
  text += String.fromCharCode(
    Number(isPaused) |
      (late === undefined
        ? 0
        : 2 | ((late.event + 1) << 2) | (endings.indexOf(late.ending) << 4) | (Number(late.isCurrent) << 7)),
    left,
  );
  return text;
}

function decode(text: string, eventCount: number, actorCount: number): System {
  let place = 0;
  const next = () => text.charCodeAt(place++);
  const bit = (value: number, index: number) => ((value >> index) & 1) === 1;
  const events = Array.from({ length: eventCount }, (): Event => {
    const [row, more] = [next(), next()];
    return {
      state: at(rowStates, row & 7),
      ended: bit(row, 3),
      body: bit(row, 4),
      suspect: bit(row, 5),
      held: bit(row, 6),
      erased: bit(row, 7),
      tries: more & 7,
      acknowledged: bit(more, 3),
      isDone: bit(more, 4),
      isGone: bit(more, 5),
      reruns: more >> 6,
    };
  });
  const actors = Array.from({ length: actorCount }, (): Actor => {
    const [has, more] = [next(), next()];
    return {
      event: (has & 3) - 1,
      phase: at(phases, (has >> 2) & 3),
      isCurrent: bit(has, 4),
      believes: bit(has, 5),
      ending: at(endings, more & 7),
      abandoned: more >> 3,
    };
  });
  const rest = next();
  const late = bit(rest, 1)
    ? { event: ((rest >> 2) & 3) - 1, ending: at(endings, (rest >> 4) & 7), isCurrent: bit(rest, 7) }
    : undefined;
  return { events, actors, late, isPaused: bit(rest, 0), left: next() };
}
