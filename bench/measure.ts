/** The median time of one call. */
export interface Measured {
  readonly name: string;
  readonly nanoseconds: number;
}

const rounds = 41;
const roundNanoseconds = 20_000_000;

/** Times each function in short alternating rounds, so that other load on the machine affects all of them alike. */
export function interleaved(peers: Readonly<Record<string, () => void>>): Measured[] {
  const samples = Object.entries(peers).map(([name, run]) => ({
    name,
    run,
    calls: callsFor(run),
    times: [] as number[],
  }));
  for (let round = 0; round < rounds; round++) {
    for (const { run, calls, times } of samples) times.push(time(run, calls) / calls);
  }
  return samples.map(({ name, times }) => ({ name, nanoseconds: median(times) }));
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

export function ratio(a: Measured, b: Measured): string {
  return (a.nanoseconds / b.nanoseconds).toFixed(2);
}

/** How many calls a round needs. Finding out warms the function up. */
function callsFor(run: () => void): number {
  let calls = 1000;
  for (let warm = 0; warm < 10; warm++)
    calls = Math.max(1, Math.round((calls * roundNanoseconds) / time(run, calls)));
  return calls;
}

function time(run: () => void, calls: number): number {
  const start = process.hrtime.bigint();
  for (let call = 0; call < calls; call++) run();
  return Number(process.hrtime.bigint() - start);
}
