import { AsyncLocalStorage } from "node:async_hooks";
import { createHash } from "node:crypto";
import { createRequire, syncBuiltinESMExports } from "node:module";
import { hashOf, type Random } from "./random.ts";

/** A clock on the wall, which can be set. A process reads that of its machine. */
export interface Machine {
  /** How far it is ahead of the true time, in ms. */
  offsetMs: number;
  /** When it was last set, in ms of virtual time. */
  setAt: number;
}

/** The owner of timers, messages and other steps. */
export interface Owner {
  readonly name: string;
  readonly machine: Machine;
  /** Its steps do not happen any more. */
  readonly isDead: boolean;
  /** Its steps wait until then, in ms of virtual time. */
  readonly frozenUntil: number;
  /** While it starts, its immediates take no step: its program also waits for the real disk. */
  readonly isStarting?: boolean;
}

export interface Step {
  /** When it happens, in ms of virtual time. */
  at: number;
  readonly owner: Owner;
  readonly what: string;
  readonly run: () => void;
  isCancelled: boolean;
}

interface Queued extends Step {
  readonly tie: number;
  readonly number: number;
}

/** Virtual time: it stands still while a step runs, and then jumps to the next one. */
export interface VirtualTime {
  /** Ms since the beginning. */
  readonly now: number;
  readonly steps: number;
  /** Everything that has no other owner: the network, the service, the world outside. */
  readonly world: Owner;
  /** Plans a step. Steps of one owner at the same time happen in the order in which they were planned, those of several in a seeded order. */
  plan(owner: Owner, afterMs: number, what: string, run: () => void): Step;
  /** Runs `work` as code of this owner: timers that it sets, then and later, belong to the owner. */
  as<Result>(owner: Owner, work: () => Result): Result;
  /** Adds a line to the trace. */
  note(line: string): void;
  /** Takes steps until `isOver`, or `untilMs`. Rejects with what a step has thrown, or when nothing is left to happen. */
  run(isOver: () => boolean, untilMs?: number): Promise<void>;
  /** Takes no step until this has ended: for work that is not in virtual time. */
  standStill(work: Promise<unknown>): void;
  /** Ends the run with this error. */
  fail(error: Error): void;
  /** The last lines of the trace, and the hash of all of them. */
  lastLines(): readonly string[];
  traceHash(): string;
}

const real = { setImmediate, now: performance.now.bind(performance) };

/** The time since the program began, in ms: the only one that is not virtual. */
export const realMs: () => number = real.now;

/** Promise jobs and `process.nextTick` run to their end before the next event of the real loop. */
function drained(): Promise<void> {
  return new Promise((resolve) => real.setImmediate(resolve));
}

const keptLines = 50;
/** Immediates do not stop the clock, so that a loop of them ends. */
const immediateMs = 0.01;
const longestTimerMs = 2 ** 31 - 1;

/**
 * Replaces the time, the timers and the random numbers of this process by virtual ones. Call it before the packages are imported:
 * some of them read the clock while they are loaded.
 */
export function installVirtualTime(epochMs: number, random: Random): VirtualTime {
  const owners = new AsyncLocalStorage<Owner>();
  const queue = createQueue();
  const trace = createHash("sha256");
  const programRandom = random.fork("programs");
  const lines: string[] = [];
  const world: Owner = { name: "world", machine: { offsetMs: 0, setAt: 0 }, isDead: false, frozenUntil: 0 };
  let unhashed: string[] = [];
  let now = 0;
  let steps = 0;
  let planned = 0;
  let held: Promise<unknown> | undefined;
  let failure: Error | undefined;

  const ownerNow = () => owners.getStore() ?? world;
  const wallMs = () => Math.floor(epochMs + now + ownerNow().machine.offsetMs);

  function plan(owner: Owner, afterMs: number, what: string, run: () => void): Step {
    const at = now + afterMs;
    const tie = hashOf(`${owner.name} ${at}`);
    const step: Queued = { at, owner, what, run, isCancelled: false, tie, number: planned++ };
    queue.add(step);
    return step;
  }

  function note(line: string): void {
    lines.push(line);
    if (lines.length > 2 * keptLines) lines.splice(0, keptLines);
    unhashed.push(line);
    if (unhashed.length < 1000) return;
    trace.update(unhashed.join("\n"));
    unhashed = [];
  }

  async function run(isOver: () => boolean, untilMs = Number.POSITIVE_INFINITY): Promise<void> {
    for (;;) {
      await drained();
      while (held !== undefined) {
        const work = held;
        held = undefined;
        await work;
        await drained();
      }
      if (failure !== undefined) throw failure;
      if (isOver()) return;
      const step = queue.next();
      if (step === undefined) throw new Error("Nothing is left to happen, and the run is not at its end.");
      if (step.at > untilMs) {
        queue.add(step);
        now = untilMs;
        return;
      }
      const { owner } = step;
      if (step.isCancelled || owner.isDead) continue;
      if (owner.frozenUntil > step.at) {
        step.at = owner.frozenUntil;
        queue.add(step);
        continue;
      }
      now = step.at;
      steps += 1;
      note(`${now.toFixed(3)} ${owner.name}: ${step.what}`);
      try {
        owners.run(owner, step.run);
      } catch (error) {
        failure ??= error as Error;
      }
    }
  }

  process.on("unhandledRejection", (error) => {
    failure ??= error as Error;
  });

  // --- timers

  class Timer {
    readonly #callback: () => void;
    readonly #ms: number;
    readonly #repeats: boolean;
    readonly #owner = ownerNow();
    readonly #inContext = AsyncLocalStorage.snapshot();
    #step: Step;
    constructor(callback: () => void, ms: number, repeats: boolean) {
      this.#callback = callback;
      this.#ms = ms >= 1 && ms <= longestTimerMs ? Math.trunc(ms) : 1;
      this.#repeats = repeats;
      this.#step = this.#plan();
    }
    #plan(): Step {
      return plan(this.#owner, this.#ms, `timer of ${this.#ms} ms`, () => {
        if (this.#repeats) this.#step = this.#plan();
        this.#inContext(this.#callback);
      });
    }
    close(): void {
      this.#step.isCancelled = true;
    }
    refresh(): this {
      this.close();
      this.#step = this.#plan();
      return this;
    }
    ref(): this {
      return this;
    }
    unref(): this {
      return this;
    }
    hasRef(): boolean {
      return true;
    }
  }

  type Callback = (...values: unknown[]) => void;
  const timer =
    (repeats: boolean) =>
    (callback: Callback, ms: unknown, ...values: unknown[]) =>
      new Timer(() => callback(...values), Number(ms), repeats);
  const clear = (given: unknown) => {
    if (given instanceof Timer) given.close();
  };
  function immediate(callback: Callback, ...values: unknown[]): Timer | { close(): void } {
    const inContext = AsyncLocalStorage.snapshot();
    if (ownerNow().isStarting) {
      real.setImmediate(() => inContext(() => callback(...values)));
      return { close() {} };
    }
    const step = plan(ownerNow(), immediateMs, "immediate", () => inContext(() => callback(...values)));
    return {
      close() {
        step.isCancelled = true;
      },
    };
  }

  interface WaitOptions {
    readonly signal?: AbortSignal;
  }
  function wait<Value>(ms: number, value?: Value, { signal }: WaitOptions = {}): Promise<Value | undefined> {
    return new Promise((resolve, reject) => {
      const abort = () => {
        waiting.close();
        reject(new DOMException("The operation was aborted", { name: "AbortError", cause: signal?.reason }));
      };
      const waiting = new Timer(
        () => {
          signal?.removeEventListener("abort", abort);
          resolve(value);
        },
        ms,
        false,
      );
      if (signal?.aborted) abort();
      else signal?.addEventListener("abort", abort, { once: true });
    });
  }

  // --- what programs read

  const setTimeout = timer(false);
  Object.assign(globalThis, {
    setTimeout,
    setInterval: timer(true),
    setImmediate: immediate,
    clearTimeout: clear,
    clearInterval: clear,
    clearImmediate: (given: { close?(): void } | undefined) => given?.close?.(),
  });
  Object.assign(AbortSignal, {
    timeout(ms: number) {
      const controller = new AbortController();
      setTimeout(
        () => controller.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError")),
        ms,
      );
      return controller.signal;
    },
  });
  Object.defineProperty(performance, "now", { value: () => now });
  Object.defineProperty(performance, "timeOrigin", { value: epochMs });
  const RealDate = Date;
  RealDate.now = wallMs;
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, values, newTarget) =>
      Reflect.construct(target, values.length === 0 ? [wallMs()] : values, newTarget) as Date,
  });
  Math.random = programRandom.fraction;
  process.hrtime = Object.assign(
    () => [Math.floor(now / 1000), Math.floor((now % 1000) * 1e6)] as [number, number],
    { bigint: () => BigInt(Math.floor(now * 1e6)) },
  );

  const require = createRequire(import.meta.url);
  const randomBytes = (size: number) =>
    Buffer.from(Array.from({ length: size }, () => programRandom.below(256)));
  Object.assign(require("node:timers/promises"), {
    setTimeout: wait,
    setImmediate: <Value>(value: Value) => new Promise((resolve) => void immediate(() => resolve(value))),
  });
  Object.assign(require("node:crypto"), {
    randomBytes,
    randomUUID() {
      const hex = randomBytes(16).toString("hex");
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
    },
    randomInt: (from: number, to?: number) =>
      to === undefined ? programRandom.below(from) : from + programRandom.below(to - from),
  });
  syncBuiltinESMExports();

  return {
    world,
    plan,
    note,
    run,
    as: (owner, work) => owners.run(owner, work),
    get now() {
      return now;
    },
    get steps() {
      return steps;
    },
    standStill(work) {
      held = held === undefined ? work : Promise.all([held, work]);
    },
    fail(error) {
      note(`FAILED ${error.message}`);
      failure ??= error;
    },
    lastLines: () => lines.slice(-keptLines),
    traceHash() {
      trace.update(unhashed.join("\n"));
      unhashed = [];
      return trace.copy().digest("hex").slice(0, 16);
    },
  };
}

/** A heap: the earliest step first. */
function createQueue() {
  const heap: Queued[] = [];
  const isBefore = (one: Queued, other: Queued) =>
    one.at !== other.at
      ? one.at < other.at
      : one.tie !== other.tie
        ? one.tie < other.tie
        : one.number < other.number;
  return {
    add(step: Queued): void {
      let at = heap.length;
      while (at > 0) {
        const above = (at - 1) >> 1;
        const parent = heap[above] as Queued;
        if (!isBefore(step, parent)) break;
        heap[at] = parent;
        at = above;
      }
      heap[at] = step;
    },
    next(): Queued | undefined {
      const [first] = heap;
      const last = heap.pop();
      if (last === undefined || heap.length === 0) return first;
      let at = 0;
      for (;;) {
        let below = 2 * at + 1;
        if (below >= heap.length) break;
        if (below + 1 < heap.length && isBefore(heap[below + 1] as Queued, heap[below] as Queued)) below += 1;
        if (!isBefore(heap[below] as Queued, last)) break;
        heap[at] = heap[below] as Queued;
        at = below;
      }
      heap[at] = last;
      return first;
    },
  };
}
