// npm run lab -- faults
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { copySources } from "../scratch.ts";
import { type Fault, faults } from "./faults.ts";

/** The result of a fault. */
export interface Caught {
  readonly fault: Fault;
  /** For each of its checks, the first test that failed; undefined if none did. */
  readonly by: readonly (string | undefined)[];
  readonly seconds: number;
}

/** A copy of the sources, in which faults are made. */
export interface Scratch {
  /** Runs a check of the sources as they are. Resolves to the first test that fails; undefined if none does. */
  run(check: string): Promise<string | undefined>;
  /** Makes a fault, runs its checks, and takes the fault back. */
  try(fault: Fault): Promise<Caught>;
  remove(): void;
}

export function createScratch(): Scratch {
  const { folder, remove } = copySources();
  return {
    run: (check) => firstFailure(folder, check),
    async try(fault) {
      const startedAt = performance.now();
      const path = join(folder, fault.file);
      const source = readFileSync(path, "utf8");
      writeFileSync(path, withFault(source, fault));
      try {
        const by: (string | undefined)[] = [];
        for (const check of fault.checks) by.push(await firstFailure(folder, check));
        return { fault, by, seconds: (performance.now() - startedAt) / 1000 };
      } finally {
        writeFileSync(path, source);
      }
    },
    remove,
  };
}

/** The source with the fault. Throws if the fault no longer applies. */
export function withFault(source: string, { name, file, before, after }: Fault): string {
  const places = source.split(before).length - 1;
  if (places === 1) return source.replace(before, () => after);
  throw new Error(
    `The fault "${name}" no longer applies: ${file} has its text ${places} times instead of once. Change its text in lab/faults/faults.ts so that it makes the same mistake in the present source.`,
  );
}

/** Returns the project of a test file, which the end of its name says. */
function projectOf(check: string): string {
  return /\.(servers|rest|lab)\.test\.ts$/.exec(check)?.[1] ?? "unit";
}

/** The full name of the first test that fails; undefined if all pass. */
async function firstFailure(folder: string, check: string): Promise<string | undefined> {
  const report = join(folder, "node_modules/.faults.json");
  rmSync(report, { force: true });
  mkdirSync(dirname(report), { recursive: true });
  const child = spawn(
    process.execPath,
    [
      "node_modules/vitest/vitest.mjs",
      "run",
      "--project",
      projectOf(check),
      "--testTimeout",
      "180000",
      "--bail",
      "1",
      "--reporter",
      "json",
      "--outputFile",
      report,
      check,
    ],
    { cwd: folder, stdio: ["ignore", "ignore", "pipe"], timeout: 900_000 },
  );
  let complaints = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaints += text;
  });
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  if (!existsSync(report))
    throw new Error(`vitest wrote no report of ${check} (exit code ${code}): ${complaints.slice(-2000)}`);
  const { testResults, numTotalTests } = JSON.parse(readFileSync(report, "utf8")) as {
    numTotalTests: number;
    testResults: { assertionResults: { status: string; fullName: string }[] }[];
  };
  if (numTotalTests === 0)
    throw new Error(
      `${check} ran no test: name a test file that exists, or change the fault so that its source compiles. ${complaints.slice(-2000)}`,
    );
  const results = testResults.flatMap(({ assertionResults }) => assertionResults);
  return results.find(({ status }) => status === "failed")?.fullName;
}

/** The checks of these faults, each once. */
export function checksOf(faults: readonly Fault[]): readonly string[] {
  return [...new Set(faults.flatMap(({ checks }) => checks))];
}

/** Makes each fault whose name has this part, and prints which test notices it. Returns whether every check notices its fault. */
export async function runFaults(part = ""): Promise<boolean> {
  console.log("Faults in a copy of the sources, and the first test of each check that notices them:");
  const scratch = createScratch();
  const tried = faults.filter(({ name }) => name.includes(part));
  let isComplete = true;
  try {
    for (const check of checksOf(tried)) {
      const failed = await scratch.run(check);
      if (failed !== undefined) console.log(`  Without any fault, ${check} fails: ${failed}`);
      isComplete &&= failed === undefined;
    }
    for (const fault of tried) {
      const { by, seconds } = await scratch.try(fault);
      console.log(`  ${fault.name} (${seconds.toFixed(0)} s)`);
      for (const [index, check] of fault.checks.entries()) {
        console.log(`    ${check}: ${by[index] ?? "NOT NOTICED"}`);
        isComplete &&= by[index] !== undefined;
      }
    }
  } finally {
    scratch.remove();
  }
  return isComplete;
}
