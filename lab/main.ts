// npm run lab [-- model | simulation | faults [part of the name of a fault] | disks [part of the name of a writer] | inputs [part of the name of a reader] | clocks [part of the name of an engine [part of the name of a fault]] | tests [part of a path …]]
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { runClocks } from "./clocks/main.ts";
import { runDisks } from "./disks/main.ts";
import { runFaults } from "./faults/main.ts";
import { runInputs } from "./inputs/main.ts";
import { runModel } from "./model/main.ts";

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
  tests: (...paths: readonly string[]) =>
    run("node_modules/vitest/vitest.mjs", "run", "--project", "lab", ...paths),
  crashes() {
    process.env["KILLS"] ??= "20"; // test/support/crashes.ts
    return run("node_modules/vitest/vitest.mjs", "run", "--project", "rest", "test/crash.rest.test.ts");
  },
} as const;

const [wanted, ...given] = process.argv.slice(2);
if (wanted !== undefined && !(wanted in parts)) {
  console.error(
    `There is no part ${JSON.stringify(wanted)} of the laboratory. Name one of: ${Object.keys(parts).join(", ")}; or none, for all.`,
  );
  process.exit(2);
}
const names = Object.keys(parts) as (keyof typeof parts)[];
for (const name of wanted === undefined ? names : [wanted as keyof typeof parts])
  if (!(await parts[name](...given))) process.exitCode = 1;

/** Runs another program of the laboratory. Resolves to whether it succeeded. */
async function run(...args: readonly string[]): Promise<boolean> {
  const child = spawn(process.execPath, args, { cwd: join(import.meta.dirname, ".."), stdio: "inherit" });
  const [code] = await once(child, "exit");
  return code === 0;
}
