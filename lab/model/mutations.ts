// Rules with one mistake each. The search must find a counterexample to every one of them: otherwise it could not find a mistake in
// the real rules either.
import { type Rules, rules } from "./search.ts";
import type { Change, Check, Guard, Name, Pattern, Transition } from "./state-machine.ts";

export interface Mutation {
  readonly mistake: string;
  readonly rules: Rules;
  /** The invariant that fails: a part of its sentence. */
  readonly breaks: string;
}

function altered(names: readonly Name[], alter: (transition: Transition) => Partial<Transition>): Rules {
  const table = { ...rules.table };
  for (const name of names) table[name] = { ...table[name], ...alter(table[name]) };
  return { ...rules, table };
}

function withoutGuard(names: readonly Name[], guard: Guard): Rules {
  return altered(names, ({ guards }) => ({ guards: guards.filter((other) => other !== guard) }));
}

function from(name: Name, changes: Partial<Pattern>): Rules {
  return altered([name], ({ from }) => ({ from: { ...from, ...changes } }));
}

function to(names: readonly Name[], changes: Partial<Change>): Rules {
  return altered(names, ({ to }) => ({ to: { ...to, ...changes } }));
}

function withoutCheck(check: Check): Rules {
  return { ...rules, checks: new Set([...rules.checks].filter((other) => other !== check)) };
}

const settlements = Object.keys(rules.table).filter((name) => name.startsWith("settle ")) as Name[];
/** The same pattern, with any value of this mark. */
function any(name: Name, mark: keyof Pattern): Rules {
  return altered([name], ({ from }) => ({
    from: Object.fromEntries(Object.entries(from).filter(([other]) => other !== mark)) as Pattern,
  }));
}

export const mutations: readonly Mutation[] = [
  {
    mistake: "the fence is not checked at settle",
    rules: withoutGuard(settlements, "fence"),
    breaks: "the live lease on event 1 was ended by another",
  },
  {
    mistake: "a settlement changes a row in any state",
    rules: altered(settlements, () => ({ from: { state: ["ready", "leased", "done", "dead"] } })),
    breaks: "event 1 is to run, and has no body",
  },
  {
    mistake: "the fence is not checked at transact",
    rules: withoutGuard(["transact"], "fence"),
    breaks: "the live lease on event 1 was ended by another",
  },
  {
    mistake: "a lease that follows an ended one gets no new fence",
    rules: to(["take"], { fence: "void" }),
    breaks: "the live lease on event 1 was ended by another",
  },
  {
    mistake: "a lease is ended before its time",
    rules: any("lease end", "ended"),
    breaks: "the live lease on event 1 was ended by another",
  },
  {
    mistake: "a leased event is taken",
    rules: altered(["take"], ({ from: { ended: _, ...from } }) => ({
      from: { ...from, state: ["ready", "leased"] },
    })),
    breaks: "two live leases for event 1",
  },
  {
    mistake: "an event is acknowledged before it is committed",
    rules: withoutCheck("stored"),
    breaks: "event 1 was acknowledged and is in no state",
  },
  {
    mistake: "the purge deletes before the retention has ended",
    rules: any("purge", "ended"),
    breaks: "event 1 was acknowledged and is in no state",
  },
  {
    mistake: "the purge removes the body of an event that is not settled",
    rules: from("purge bodies", { state: ["unhandled", "dead", "ready"] }),
    breaks: "event 1 is to run, and has no body",
  },
  {
    mistake: "an event without its body is redriven",
    rules: any("redrive", "body"),
    breaks: "event 1 is to run, and has no body",
  },
  {
    mistake: "an event that a worker handles is given up",
    rules: from("give up", { state: ["ready", "leased"] }),
    breaks: "the live lease on event 1 was ended by another",
  },
  {
    mistake: "a done event is redriven",
    rules: altered(["redrive"], () => ({ from: { state: ["dead", "unhandled", "done"] } })),
    breaks: "event 1 is to run, and has no body",
  },
  {
    mistake: "an erased event is run again",
    rules: any("rerun", "erased"),
    breaks: "event 1 was taken after it was erased",
  },
  {
    mistake: "a run makes an event ready more than once",
    rules: withoutGuard(["rerun"], "newRun"),
    breaks: "event 1 was run again twice by one run",
  },
  {
    mistake: "a paused event is taken",
    rules: withoutGuard(["take"], "notPaused"),
    breaks: "event 1 was taken although its type is paused",
  },
  {
    mistake: "the end of a pause lets nothing go",
    rules: from("let go", { state: [] }),
    breaks: "event 1 waits indefinitely",
  },
  {
    mistake: "an ended lease is forgotten",
    rules: from("lease end", { state: [] }),
    breaks: "event 1 waits indefinitely",
  },
  {
    mistake: "an event is taken while another one of its lane is leased",
    rules: withoutGuard(["take"], "laneFree"),
    breaks: "event 2 was taken before event 1",
  },
  {
    mistake: "an event is taken before the one ahead of it in its lane",
    rules: withoutGuard(["take"], "firstInLane"),
    breaks: "event 2 was taken before event 1",
  },
  {
    mistake: "a late renewal leases an event that is ready again",
    rules: altered(["extend"], () => ({
      from: { state: ["leased", "ready"], body: true },
      to: { state: "leased", ended: false },
    })),
    breaks: "event 1 and event 2 are leased, and are in one lane",
  },
  {
    mistake: "a dead event holds its lane",
    rules: altered(["take"], ({ guards }) => ({ guards: [...guards, "noneDeadBefore"] })),
    breaks: "event 2 is due, and cannot be taken",
  },
  {
    mistake: "a handler starts after its lease has ended",
    rules: withoutCheck("inTime"),
    breaks: "the handler of event 1 was started although the event is done",
  },
  {
    mistake: "a handler starts while an abandoned one of its event runs in the process",
    rules: withoutCheck("notAbandonedHere"),
    breaks: "the handler of event 1 was started while an abandoned one runs in the same process",
  },
  {
    mistake: "attempts are not limited",
    rules: withoutCheck("attemptsLeft"),
    breaks: "the handler of event 1 was started more often than maxAttempts",
  },
  {
    mistake: "the end of an inline claim makes an event without a body ready",
    rules: any("lease end", "body"),
    breaks: "event 1 is to run, and has no body",
  },
  {
    mistake: "an id is claimed while another claim of it lasts",
    rules: any("claim ends", "ended"),
    breaks: "two live leases for event 1",
  },
  {
    mistake: "a done id is claimed before its retention has ended",
    rules: any("retention ends", "ended"),
    breaks: "two live leases for event 1",
  },
  {
    mistake: "a claim is completed by an owner that has lost it",
    rules: withoutGuard(["complete"], "fence"),
    breaks: "the live lease on event 1 was ended by another",
  },
];
