/**
 * The most that each tier of tests may take on two cores, in seconds: raise a limit only with its reason in the commit. In CI, a tier or a
 * file that takes a fifth more fails. The CPU is without that of the servers that tests share. The aims are 150 s and 245 s of CPU for
 * `npm test`, 5 for a file and 25 for a suite. One machine took 151 and 246; an hour can be a quarter slower than the next, which the
 * measured loop does not show, so the limits are above both.
 */
export const limits: Limits = {
  tiers: {
    "npm test": { projects: ["unit", "servers"], wall: 190, cpu: 290 },
    "npm run test:rest": { projects: ["rest"], wall: 2000, cpu: 2800 },
  },
  /** CPU of a file of `npm test`, with that of the processes it starts. Conformance suites end in `.suite.test.ts` or `.suite.servers.test.ts`. */
  file: 10,
  suite: 25,
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
