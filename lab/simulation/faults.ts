import type { Random } from "./random.ts";

/** The fate of a message and its answer. */
export interface Fate {
  readonly requestMs: number;
  readonly answerMs: number;
  /** `before`: it does not arrive. `after`: it arrives, and its answer does not. */
  readonly lost: "before" | "after" | undefined;
  /** Whether the one who asks learns of the loss immediately, by a reset of the connection, or only by a timeout. */
  readonly isReset: boolean;
}

/** How likely each fault is, and how often what happens to whole processes does. */
export interface FaultRates {
  readonly lost: number;
  readonly slow: number;
  readonly slowDisk: number;
  readonly fullDisk: number;
  readonly handlerThrows: number;
  readonly handlerHangs: number;
  readonly handlerWaits: number;
  readonly badSignature: number;
  readonly duplicate: number;
  readonly reorder: number;
  readonly callFails: number;
  readonly cutBody: number;
  /** A process is killed when the store has done what it asked for, and before it learns of that. */
  readonly killAtCommit: number;
  /** Mean times between two of them, in ms; infinite: never. */
  readonly killMs: number;
  readonly stopMs: number;
  readonly freezeMs: number;
  readonly partitionMs: number;
  readonly outageMs: number;
  readonly clockMs: number;
  readonly operatorMs: number;
  readonly forgeryMs: number;
}

export interface Faults {
  readonly rates: FaultRates;
  /** No faults from now on. */
  stop(): void;
  readonly areOver: boolean;
  fate(): Fate;
  /** How long a thread takes for a message: what it writes is on the disk by then. */
  diskMs(): number;
  /** How long a message takes between two threads. */
  threadMs(): number;
  isDiskFull(): boolean;
  strikes(fault: "handlerThrows" | "handlerHangs" | "handlerWaits" | "cutBody" | "killAtCommit"): boolean;
}

const minuteMs = 60_000;

/**
 * The faults of a seed. Each seed has some kinds of faults and not others, each at a rate of its own: where all kinds strike all the time,
 * few events get far enough for the rarer mistakes.
 */
export function createFaults(random: Random): Faults {
  const rate = (most: number) => (random.chance(0.65) ? random.between(most / 20, most) : 0);
  const every = (fromMs: number, toMs: number, likely = 0.65) =>
    random.chance(likely) ? random.between(fromMs, toMs) : Number.POSITIVE_INFINITY;
  const rates: FaultRates = {
    lost: rate(0.15),
    slow: rate(0.3),
    slowDisk: rate(0.15),
    fullDisk: rate(0.03),
    handlerThrows: rate(0.3),
    handlerHangs: rate(0.05),
    handlerWaits: rate(0.15),
    badSignature: rate(0.02),
    duplicate: rate(0.1),
    reorder: rate(0.2),
    callFails: rate(0.1),
    cutBody: rate(0.02),
    killAtCommit: rate(0.004),
    killMs: every(3 * minuteMs, 30 * minuteMs, 0.85),
    stopMs: every(10 * minuteMs, 100 * minuteMs),
    freezeMs: every(minuteMs, 10 * minuteMs),
    partitionMs: every(2 * minuteMs, 20 * minuteMs),
    outageMs: every(10 * minuteMs, 60 * minuteMs),
    clockMs: every(5 * minuteMs, 60 * minuteMs, 0.4),
    operatorMs: every(2 * minuteMs, 20 * minuteMs),
    forgeryMs: every(minuteMs, 20 * minuteMs, 1),
  };
  let areOver = false;
  const strikes = (probability: number) => !areOver && random.chance(probability);
  /** Around a usual time; if it is slow, up to a hundred times as long, or longer than most timeouts and leases. */
  function ms(usual: number, isSlow: boolean): number {
    if (!isSlow) return random.between(usual / 2, usual * 1.5);
    return random.chance(0.4) ? random.between(1000, 60_000) : random.between(usual, usual * 100);
  }
  return {
    rates,
    stop() {
      areOver = true;
    },
    get areOver() {
      return areOver;
    },
    fate: () => ({
      requestMs: ms(5, strikes(rates.slow)),
      answerMs: ms(5, strikes(rates.slow / 2)),
      lost: strikes(rates.lost) ? random.pick(["before", "after"] as const) : undefined,
      isReset: random.chance(0.5),
    }),
    diskMs: () => ms(3, strikes(rates.slowDisk)),
    threadMs: () => random.between(0.02, 0.2),
    isDiskFull: () => strikes(rates.fullDisk),
    strikes: (fault) => strikes(rates[fault]),
  };
}
