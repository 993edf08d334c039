// npm run simulate -- --seed 7 --events 10000: one seed, or with --seeds 20 that many, each in a process of its own.
import { execFile } from "node:child_process";
import { parseArgs, promisify } from "node:util";
import { type Break, breaks } from "./engines.ts";
import { type EngineName, type SimulationReport, simulate } from "./world.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    events: { type: "string", default: "1000" },
    seeds: { type: "string" },
    seconds: { type: "string", default: "3600" },
    engine: { type: "string" },
    break: { type: "string" },
    json: { type: "boolean", default: false },
  },
});

function numberOf(name: "seed" | "events" | "seeds" | "seconds"): number {
  const number = Number(values[name]);
  if (Number.isSafeInteger(number) && number >= 0) return number;
  fail(`--${name} is not a whole number: ${values[name]}.`, `Pass one, such as --${name} 7.`);
}

function oneOf<Name extends string>(option: "engine" | "break", names: readonly Name[]): Name | undefined {
  const name = values[option];
  if (name === undefined || (names as readonly string[]).includes(name)) return name as Name | undefined;
  fail(`There is no --${option} ${name}.`, `Choose one of ${names.join(", ")}.`);
}

function fail(problem: string, remedy: string): never {
  console.error(`${problem} ${remedy}`);
  process.exit(2);
}

const seed = numberOf("seed");
const events = numberOf("events");
const engine = oneOf<EngineName>("engine", ["server", "sqlite"]);
const broken = oneOf("break", Object.keys(breaks) as Break[]);
if (broken !== undefined && engine === "sqlite")
  fail("The engine sqlite has no rule that can be broken here.", "Leave --engine out.");

if (values.seeds === undefined) {
  const report = await simulate({ seed, events, engine, broken });
  print(report);
  process.exit(report.failure === undefined ? 0 : 1);
} else process.exit(await simulateMany(numberOf("seeds"), numberOf("seconds")));

/** Two seeds at a time, until the seconds have passed. Resolves to the exit code. */
async function simulateMany(seeds: number, seconds: number): Promise<number> {
  const endsAt = performance.now() + seconds * 1000;
  const totals = { seeds: 0, steps: 0, failed: 0 };
  let next = seed;
  async function simulateSome(): Promise<void> {
    while (next < seed + seeds && performance.now() < endsAt) {
      const report = await inProcess(next++);
      totals.seeds += 1;
      totals.steps += report.steps;
      totals.failed += report.failure === undefined ? 0 : 1;
      if (!values.json) print(report);
    }
  }
  const startedAt = performance.now();
  await Promise.all([simulateSome(), simulateSome()]);
  const tookMs = performance.now() - startedAt;
  if (values.json) console.log(JSON.stringify(totals));
  else
    console.log(
      `${totals.seeds} seeds, ${totals.failed} failed; ${totals.steps} steps in ${(tookMs / 1000).toFixed(0)} s`,
    );
  return totals.failed === 0 ? 0 : 1;
}

async function inProcess(of: number): Promise<SimulationReport> {
  const options = Object.entries({ events, engine, break: broken }).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, String(value)],
  );
  const args = [...process.execArgv, import.meta.filename, "--seed", String(of), "--json", ...options];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 2 ** 26 }).catch(
    (error: { stdout: string; code: unknown }) => {
      if (error.code === 1 && error.stdout !== "") return error;
      throw error;
    },
  );
  return JSON.parse(stdout) as SimulationReport;
}

function print(report: SimulationReport): void {
  if (values.json) {
    console.log(JSON.stringify(report));
    return;
  }
  const { seed, engine, steps, virtualMs, realMs, trace, failure, counts } = report;
  const perMinute = Math.round((steps / realMs) * 60_000).toLocaleString("en");
  const result = failure === undefined ? "ok" : "FAILED";
  console.log(
    `seed ${seed} (${engine}): ${result}; ${steps} steps of ${(virtualMs / 3_600_000).toFixed(1)} h in ${(realMs / 1000).toFixed(1)} s, ${perMinute} a minute; trace ${trace}`,
  );
  if (values.seeds === undefined)
    console.log(
      Object.entries(counts)
        .map(([what, count]) => `  ${count} ${what}`)
        .join("\n"),
    );
  if (failure === undefined) return;
  console.log(`\nThe last ${failure.lines.length} lines of the trace, in ms of virtual time:\n`);
  for (const line of failure.lines) console.log(`  ${line}`);
  console.log(`\n${failure.message}\n`);
  const options = `--seed ${seed} --events ${events} --engine ${engine}${broken === undefined ? "" : ` --break ${broken}`}`;
  console.log(`Again, step by step: npm run simulate -- ${options}`);
}
