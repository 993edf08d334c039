/**
 * The most that each tier of tests may take on two quiet cores, in seconds, with its servers: raise a limit only with its reason in the
 * commit. In CI, a tier or a file that takes a fifth more fails. The aim for `npm test` is 150 s, 245 s of CPU without its
 * servers, 5 for a file and 25 for a suite: lower the limits as it comes nearer.
 */
export const limits: Limits = {
  tiers: {
    "npm test": { projects: ["unit", "servers"], wall: 240, cpu: 350 },
    "npm run test:rest": { projects: ["rest"], wall: 3000, cpu: 3600 },
  },
  /** CPU of a file of `npm test`, with that of the processes it starts. Conformance suites end in `.suite.test.ts` or `.suite.servers.test.ts`. */
  file: 10,
  suite: 40,
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
