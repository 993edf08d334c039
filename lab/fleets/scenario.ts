import { type Random, seededRandom } from "../simulation/random.ts";

/** The figures of a run, which its line shows. */
export interface Figures {
  readonly sent: number;
  readonly acknowledged: number;
  readonly faults: number;
  /** Acknowledged events that the engine does not have after the faults; for `redisStore`, ids that it has forgotten. */
  readonly lost: number;
  /** Events with two effects, or with two runs of their handler where it has no transaction. */
  readonly handledTwice: number;
  readonly forbidden: number;
  readonly slowestMs: number;
  /** Each broken promise, as a sentence. */
  readonly broken: readonly string[];
  /** More to say of the run. */
  readonly note?: string;
}

/** Faults that strike a fleet on one engine. */
export interface Scenario {
  readonly name: string;
  run(random: Random, seed: string): Promise<Figures>;
}

/** Runs scenarios one after the other. Resolves to whether each promise was kept. */
export async function runAll(scenarios: readonly Scenario[], seed: string): Promise<boolean> {
  let isKept = true;
  for (const scenario of scenarios) {
    const own = `${seed} ${scenario.name}`;
    isKept = (await runScenario(scenario, seededRandom(own), own)) && isKept;
  }
  return isKept;
}

/** Prints its line and what was broken. */
async function runScenario({ name, run }: Scenario, random: Random, seed: string): Promise<boolean> {
  const startedAt = performance.now();
  const figures = await run(random, seed).catch((error: Error) => {
    console.log(`${name}: ✘ ${error.stack}`);
    return undefined;
  });
  if (figures === undefined) return false;
  const { sent, acknowledged, faults, lost, handledTwice, forbidden, slowestMs, broken, note } = figures;
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
  console.log(
    `${name}: ${sent} events sent, ${acknowledged} acknowledged, ${faults} faults struck, ${lost} lost, ${handledTwice} handled twice, ${forbidden} forbidden transitions; slowest answer ${(slowestMs / 1000).toFixed(1)} s${note === undefined ? "" : `; ${note}`} (${seconds} s)`,
  );
  for (const sentence of broken.slice(0, 20)) console.log(`    ✘ ${sentence}`);
  return broken.length === 0;
}
