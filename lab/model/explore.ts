/** A promise that does not hold. */
export class Broken extends Error {}

/** Called for each state that one step leads to. The step is a sentence. */
export type Emit<State> = (step: string, next: State) => void;

/** A system whose states are explored. Every function may throw `Broken`. */
export interface Explorable<State> {
  readonly first: State;
  successors(state: State, emit: Emit<State>): void;
  /** Checks what must be true in every state. */
  check(state: State): void;
  /** Checks what must be true in a state that has no successors. */
  checkEnd(state: State): void;
  /** The same text for states that need not be explored twice. */
  encode(state: State): string;
  decode(text: string): State;
}

export interface Explored {
  readonly states: number;
  /** The most steps from the beginning to a state. */
  readonly depth: number;
  readonly seconds: number;
  readonly counterexample?: Counterexample;
}

export interface Counterexample {
  /** The promise that is broken. */
  readonly broken: string;
  /** A shortest way to it, a sentence each. */
  readonly steps: readonly string[];
}

/** Explores all states, the nearest first, until a promise is broken. */
export function explore<State>(system: Explorable<State>): Explored {
  const { first, successors, check, checkEnd, encode, decode } = system;
  const startedAt = performance.now();
  const seen = new Set<string>();
  const keys: string[] = [];
  const parents: number[] = [];
  const depths: number[] = [];

  function add(state: State, parent: number): void {
    const key = encode(state);
    if (seen.has(key)) return;
    seen.add(key);
    keys.push(key);
    parents.push(parent);
    depths.push((depths[parent] ?? -1) + 1);
    check(state);
  }

  const explored = () => ({
    states: keys.length,
    depth: depths.at(-1) ?? 0,
    seconds: (performance.now() - startedAt) / 1000,
  });

  let expanded = -1;
  try {
    add(first, -1);
    for (expanded = 0; expanded < keys.length; expanded += 1) {
      const state = decode(keys[expanded] ?? "");
      let isEnd = true;
      successors(state, (_, next) => {
        isEnd = false;
        add(next, expanded);
      });
      if (isEnd) checkEnd(state);
    }
    return explored();
  } catch (error) {
    if (!(error instanceof Broken)) throw error;
    return { ...explored(), counterexample: { broken: error.message, steps: stepsTo(expanded) } };
  }

  /** The steps to a state and to what is broken after it. They are made again along the parents, since keeping them would take more memory. */
  function stepsTo(number: number): string[] {
    const path: number[] = [];
    for (let place = number; place >= 0; place = parents[place] ?? -1) path.unshift(place);
    const steps: string[] = [];
    let state = first;
    for (const place of path.slice(1)) {
      const found = firstStep(state, (next) => encode(next) === keys[place]);
      if (found === undefined) break;
      steps.push(found.step);
      state = found.next;
    }
    const last = firstStep(state, isBroken);
    return last === undefined ? steps : [...steps, last.step];
  }

  function firstStep(
    state: State,
    isWanted: (next: State) => boolean,
  ): { step: string; next: State } | undefined {
    let found: { step: string; next: State } | undefined;
    try {
      successors(state, (step, next) => {
        if (found === undefined && isWanted(next)) found = { step, next };
      });
    } catch (error) {
      if (!(error instanceof Broken)) throw error; // the promise that is broken is about the step itself
    }
    return found;
  }

  function isBroken(state: State): boolean {
    try {
      check(state);
      return false;
    } catch {
      return true;
    }
  }
}
