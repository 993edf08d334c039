// npm run mutate [-- <room> | <room>/<file>.ts …]: breaks each expression of some rooms, one at a time, and counts what no test notices.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { copySources } from "../scratch.ts";

/** The least share of mutants that tests must notice, in percent. */
const least: Readonly<Record<string, number>> = {
  "core/verify": 90,
  "core/process": 90,
  "core/work": 85,
  "core/receive": 85,
  "client/http": 85,
  "import/record": 85,
  "endpoint/rotate": 85,
  "endpoint/reconcile": 85,
};

interface Report {
  readonly files: Readonly<Record<string, { readonly source: string; readonly mutants: readonly Mutant[] }>>;
}

interface Mutant {
  readonly status:
    | "Killed"
    | "Timeout"
    | "Survived"
    | "NoCoverage"
    | "CompileError"
    | "RuntimeError"
    | "Ignored";
  /** The message of the test that failed. */
  readonly statusReason?: string;
  readonly mutatorName: string;
  readonly replacement?: string;
  readonly location: { readonly start: Place; readonly end: Place };
}

interface Place {
  readonly line: number;
  readonly column: number;
}

const root = join(import.meta.dirname, "../..");
const results = join(root, "node_modules/.cache/mutation");
const named = process.argv.slice(2);
const unknown = named.find((name) => !(roomOf(name) in least) || !existsSync(join(root, placeOf(name))));
if (unknown !== undefined) {
  console.error(
    `There is no room or file "${unknown}" to mutate. Name some of: ${Object.keys(least).join(", ")}; or a file of theirs, as in core/verify/headers.ts.`,
  );
  process.exit(2);
}

const copy = copySources();
try {
  mkdirSync(results, { recursive: true });
  for (const name of named.length > 0 ? named : Object.keys(least)) await mutate(name);
} finally {
  copy.remove();
}

/** Prints the score of a room or a file, and writes the mutants that no test notices to a file. */
async function mutate(name: string): Promise<void> {
  const startedAt = performance.now();
  const mutated = join(placeOf(name), name.endsWith(".ts") ? "" : "**/*.ts");
  const child = spawn(
    process.execPath,
    [
      "--conditions=@esim-webhooks/source",
      "lab/mutation/node_modules/@stryker-mutator/core/bin/stryker.js",
      "run",
      "lab/mutation/stryker.json",
      "--mutate",
      mutated,
    ],
    {
      cwd: copy.folder,
      env: { ...process.env, MUTATED_ROOM: roomOf(name) },
      stdio: ["ignore", "inherit", "inherit"],
    },
  );
  const [code] = await once(child, "close");
  if (code !== 0)
    throw new Error(`Stryker ended with ${code}. Its message is above: the tests must pass without mutants.`);
  const { files } = JSON.parse(readFileSync(join(copy.folder, "mutation.json"), "utf8")) as Report;
  const unnoticed: string[] = [];
  for (const [file, { source, mutants }] of Object.entries(files)) {
    console.log(`  ${scoreOf(mutants).text} ${file}`);
    for (const mutant of mutants)
      if (isUnnoticed(mutant)) unnoticed.push(`${file}:${describe(mutant, source)}`);
  }
  const list = join(results, `${name.replaceAll("/", "-")}.txt`);
  writeFileSync(list, unnoticed.map((line) => `${line}\n`).join(""));
  const { percent, text } = scoreOf(Object.values(files).flatMap(({ mutants }) => mutants));
  const atLeast = least[roomOf(name)] as number;
  const minutes = Math.ceil((performance.now() - startedAt) / 60_000);
  console.log(`${name}: ${text}, in ${minutes} minutes; ${atLeast} % must be. The others are in ${list}`);
  if (percent < atLeast) process.exitCode = 1;
}

/** The package and the folder, as in core/verify. */
function roomOf(name: string): string {
  return name.split("/").slice(0, 2).join("/");
}

function placeOf(name: string): string {
  const [owner = "", ...path] = name.split("/");
  return join("packages", owner, "src", ...path);
}

function isNoticed({ status }: Mutant): boolean {
  return status === "Killed" || status === "Timeout";
}

/** Ended by a time limit: the mutant hangs, or the machine was busy. */
function isSlow({ status, statusReason = "" }: Mutant): boolean {
  return status === "Timeout" || (status === "Killed" && statusReason.includes("timed out in"));
}

function isUnnoticed({ status }: Mutant): boolean {
  return status === "Survived" || status === "NoCoverage";
}

function scoreOf(mutants: readonly Mutant[]): { readonly percent: number; readonly text: string } {
  const noticed = mutants.filter(isNoticed).length;
  const all = noticed + mutants.filter(isUnnoticed).length;
  const percent = all === 0 ? 100 : (100 * noticed) / all;
  const slow = mutants.filter(isSlow).length;
  return {
    percent,
    text: `${percent.toFixed(1)} % of ${all} mutants are noticed, ${slow} of them by a time limit`,
  };
}

/** Where a mutant is, what was there, and what is there instead. */
function describe({ status, mutatorName, replacement = "", location }: Mutant, source: string): string {
  const { start, end } = location;
  const lines = source.split("\n").slice(start.line - 1, end.line);
  lines.push((lines.pop() ?? "").slice(0, end.column - 1));
  lines[0] = (lines[0] ?? "").slice(start.column - 1);
  const how = status === "NoCoverage" ? `${mutatorName}, in no test` : mutatorName;
  return `${start.line}:${start.column} ${how}: ${shortened(lines.join("\n"))} → ${shortened(replacement)}`;
}

function shortened(code: string): string {
  return code.replaceAll(/\s+/g, " ").slice(0, 120);
}
