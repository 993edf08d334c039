/**
 * The most that each tier of tests may take on two quiet cores, in seconds: raise a limit only with its reason in the commit. In CI, a
 * tier or a file that takes a fifth more fails. The CPU is without that of the servers that tests share. The aim is 5 for a file and 25
 * for a suite: SQLite's starts some 300 threads, of 0.1 s each.
 */
export const limits: Limits = {
  tiers: {
    "npm test": { projects: ["unit", "servers"], wall: 150, cpu: 245 },
    "npm run test:rest": { projects: ["rest"], wall: 3000, cpu: 3600 },
  },
  /** CPU of a file of `npm test`, with that of the processes it starts. Conformance suites end in `.suite.test.ts` or `.suite.servers.test.ts`. */
  file: 8,
  suite: 32,
  /** CPU that the first file of a worker may take in addition, since it loads the modules that the next ones share. */
  loading: 5,
  /** CPU of `measuredLoop` on the machine that these limits are from, in ms. */
  loopMs: 6,
};

export interface Limits {
  readonly tiers: Readonly<Record<string, Tier>>;
  readonly file: number;
  readonly suite: number;
  readonly loading: number;
  readonly loopMs: number;
}

export interface Tier {
  readonly projects: readonly string[];
  readonly wall: number;
  readonly cpu: number;
}
