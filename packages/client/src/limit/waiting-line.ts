/** The priority of a call when several wait: orders and changes are high, listings low. */
export type Priority = "high" | "normal" | "low";

interface Waiter<Slot> {
  readonly resolve: (slot: Slot) => void;
  readonly reject: (error: unknown) => void;
  readonly number: number;
  readonly endsAt: number;
}

/** Callers that wait. */
export interface WaitingLine<Slot> {
  readonly length: number;
  /** Resolves when this caller may go. Rejects with the error of `dismiss`, or with the signal's reason, and then calls `onLeave`. */
  join(priority: Priority, signal: AbortSignal, endsAt: number, onLeave: () => void): Promise<Slot>;
  /** Lets the next caller go. False when no caller waits any more. */
  serve(slot: Slot): boolean;
  /** Rejects all callers whose time ends at `until` or earlier. */
  dismiss(until: number, error: () => unknown): void;
}

/** One time in this many, the caller that has waited longest goes, of any priority, so none waits indefinitely. */
const turnsPerOldest = 4;

/** The highest priority goes first, except as `turnsPerOldest` says; within a priority, the first that came. */
export function waitingLine<Slot>(): WaitingLine<Slot> {
  const waiting: Readonly<Record<Priority, Set<Waiter<Slot>>>> = {
    high: new Set(),
    normal: new Set(),
    low: new Set(),
  };
  const lines = [waiting.high, waiting.normal, waiting.low];
  let joined = 0;
  let served = 0;

  function next(): Waiter<Slot> | undefined {
    const first = lines.flatMap((line) => {
      const [waiter] = line;
      return waiter === undefined ? [] : [waiter];
    });
    served += 1;
    if (served % turnsPerOldest === 0) first.sort((one, other) => one.number - other.number);
    return first[0];
  }

  return {
    get length() {
      return lines.reduce((sum, line) => sum + line.size, 0);
    },
    join: (priority, signal, endsAt, onLeave) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        const leave = () => {
          waiting[priority].delete(waiter);
          reject(signal.reason);
          onLeave();
        };
        const stay = () => signal.removeEventListener("abort", leave);
        const waiter: Waiter<Slot> = {
          resolve(slot) {
            stay();
            resolve(slot);
          },
          reject(error) {
            stay();
            reject(error);
          },
          number: joined++,
          endsAt,
        };
        signal.addEventListener("abort", leave, { once: true });
        waiting[priority].add(waiter);
      }),
    serve(slot) {
      const waiter = next();
      if (waiter === undefined) return false;
      for (const line of lines) line.delete(waiter);
      waiter.resolve(slot);
      return true;
    },
    dismiss(until, error) {
      for (const line of lines) {
        for (const waiter of line) {
          if (waiter.endsAt > until) continue;
          line.delete(waiter);
          waiter.reject(error());
        }
      }
    },
  };
}
