import { Refused } from "./refused.ts";

/** A state machine as data: from each state, the operations that it allows and where they lead. */
export interface StateMachine<State extends string, Operation extends string> {
  /** The thing, as messages call it: "The eSIM". */
  readonly thing: string;
  readonly moves: Readonly<Record<State, Readonly<Partial<Record<Operation, State>>>>>;
  /** The remedy in a state that allows no operation, for messages. */
  readonly afterwards?: Readonly<Partial<Record<State, string>>>;
}

/** The state that the operation leads to. Throws `Refused("illegal_transition")` when the table has no such move. */
export function move<State extends string, Operation extends string>(
  machine: StateMachine<State, Operation>,
  from: State,
  operation: Operation,
): State {
  const to = machine.moves[from][operation];
  if (to !== undefined) return to;
  const allowed = Object.keys(machine.moves[from]).join(", ");
  const remedy = machine.afterwards?.[from] ?? "Nothing is: this state is final.";
  throw new Refused(
    "illegal_transition",
    `${machine.thing} is ${from}, and "${operation}" is not possible then. ${allowed ? `Possible: ${allowed}.` : remedy}`,
  );
}

/** Returns the states of `way` after `from`, up to `to`. If `way` does not have both in this order: only `to`. */
export function statesPassed<State extends string>(way: readonly State[], from: State, to: State): State[] {
  const [start, end] = [way.indexOf(from), way.indexOf(to)];
  return start >= 0 && end > start ? way.slice(start + 1, end + 1) : [to];
}
