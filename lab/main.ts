// npm run lab [-- a part and its arguments]: docs/reliability.md has them
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { runClocks } from "./clocks/main.ts";
import { runDisks } from "./disks/main.ts";
import { runFaults } from "./faults/main.ts";
import { runFleets } from "./fleets/main.ts";
import { runInputs } from "./inputs/main.ts";
import { runModel } from "./model/main.ts";
import { runScale } from "./scale/main.ts";
import { runTime } from "./time/main.ts";

const parts = {
  model: runModel,
  simulation: () =>
    run(
      ...process.execArgv,
      "lab/simulation/main.ts",
      ..."--seeds 200 --events 500 --seconds 900".split(" "),
    ),
  faults: runFaults,
  disks: runDisks,
  inputs: runInputs,
  clocks: runClocks,
  fleets: runFleets,
  scale: runScale,
  time: runTime,
  tests: (...paths: readonly string[]) =>
    run("node_modules/vitest/vitest.mjs", "run", "--project", "lab", ...paths),
  crashes() {
    process.env["KILLS"] ??= "20"; // test/support/crashes.ts
    return run("node_modules/vitest/vitest.mjs", "run", "--project", "rest", "test/crash.rest.test.ts");
  },
} as const;

/** Parts that run only by their name: they need gigabytes, or most of an hour. */
const long: readonly string[] = ["scale", "time"];
const [wanted, ...given] = process.argv.slice(2);
if (wanted !== undefined && !(wanted in parts)) {
  console.error(
    `There is no part ${JSON.stringify(wanted)} of the laboratory. Name one of: ${Object.keys(parts).join(", ")}; or none, for all but ${long.join(" and ")}.`,
  );
  process.exit(2);
}
const names = Object.keys(parts).filter((name) => !long.includes(name)) as (keyof typeof parts)[];
for (const name of wanted === undefined ? names : [wanted as keyof typeof parts])
  if (!(await parts[name](...given))) process.exitCode = 1;

/** Runs another program of the laboratory. Resolves to whether it succeeded. */
async function run(...args: readonly string[]): Promise<boolean> {
  const child = spawn(process.execPath, args, { cwd: join(import.meta.dirname, ".."), stdio: "inherit" });
  const [code] = await once(child, "exit");
  return code === 0;
}
