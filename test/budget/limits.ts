import type { Loops } from "./cpu.ts";

/**
 * The most that each tier of tests may take on two cores, in seconds: raise a limit only with its reason in the commit. In CI, a tier or a
 * file that takes a fifth more fails. The CPU is without that of the servers that tests share. On the machine of `loops`, `npm test` took
 * 114 to 120 s and 191 to 197 s of CPU; in an hour with slower memory 164 and 258, with the loops as fast. By the
 * loops, seven whole runs of `npm run test:rest` took 900 to 1,070 s and 1,560 to 1,800 s of CPU.
 */
export const limits: Limits = {
  tiers: {
    "npm test": { projects: ["unit", "servers"], wall: 150, cpu: 245 },
    "npm run test:rest": { projects: ["rest"], wall: 1100, cpu: 1900 },
  },
  /** CPU of a file of `npm test`, with that of the processes it starts. Conformance suites end in `.suite.test.ts` or `.suite.servers.test.ts`. */
  file: 5,
  suite: 25,
  /** Additional CPU of the first file of a worker, since it loads the modules that the next ones share. */
  loading: 5,
  /** CPU of `measuredLoops` on the machine that these limits are from, in ms. The slower one counts. */
  loops: { counting: 6, memory: 10 },
};

export interface Limits {
  readonly tiers: Readonly<Record<string, Tier>>;
  readonly file: number;
  readonly suite: number;
  readonly loading: number;
  readonly loops: Loops;
}

export interface Tier {
  readonly projects: readonly string[];
  readonly wall: number;
  readonly cpu: number;
}
