// Runs the unit tests, and others that depend on dates, on other days and in another time zone: `npm run test:dates`. Arguments
// are parts of the paths of test files; `--only <day>` runs them on one of the days.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { program } from "../servers/binaries.ts";

interface Day {
  readonly name: string;
  /** How far the wall clock is moved, as `faketime` takes it. */
  readonly shift: string;
  readonly env?: Readonly<Record<string, string>>;
}

const days: readonly Day[] = [
  { name: "tomorrow", shift: "+1d" },
  { name: "in 30 days", shift: "+30d" },
  // half an hour off the full hours, with daylight saving time
  { name: "in 400 days in St. John's", shift: "+400d", env: { TZ: "America/St_Johns" } },
];

/** The report of Vitest's reporter `json`, as far as it is read here. */
interface Report {
  readonly numPassedTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

const root = join(import.meta.dirname, "../..");
const longestMs = 60 * 60_000; // ends a run that hangs

/** The path of `faketime`, which is installed if that is possible; undefined if it is not. */
function findFaketime(): string | undefined {
  try {
    return program("faketime", "faketime", "").path;
  } catch {
    return undefined;
  }
}

/** Runs the tests on that day. Resolves to how many passed, and to the lines that describe the failures. */
async function testOn(
  { shift, env }: Day,
  faketime: string,
  parts: readonly string[],
): Promise<{ passed: number; failures: readonly string[] }> {
  const folder = mkdtempSync(join(tmpdir(), "esim-webhooks-dates-"));
  const file = join(folder, "report.json");
  const vitest = [
    process.execPath,
    join(root, "node_modules/vitest/vitest.mjs"),
    ...[
      "run",
      "--config",
      "test/dates/vitest.config.ts",
      "--reporter=json",
      `--outputFile=${file}`,
      ...parts,
    ],
  ];
  try {
    const { code, output } = await run(faketime, ["-f", shift, ...vitest], {
      ...env,
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
    });
    const report = reportIn(file);
    const failures = report === undefined ? [] : failuresIn(report);
    // it was killed, crashed, or failed outside the tests
    if (code !== 0 && failures.length === 0) failures.push(output.trimEnd().slice(-5000));
    return { passed: report?.numPassedTests ?? 0, failures };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function run(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<{ code: number | null; output: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ code: number | null; output: string }>();
  const child = spawn(command, args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: longestMs,
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output = (output + text).slice(-100_000);
    });
  }
  child.on("error", reject).on("close", (code) => resolve({ code, output }));
  return promise;
}

function reportIn(file: string): Report | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Report;
  } catch {
    return undefined;
  }
}

function failuresIn({ testResults }: Report): string[] {
  const failures: string[] = [];
  for (const { name, status, message, assertionResults } of testResults) {
    const file = relative(root, name);
    const failed = assertionResults.filter((test) => test.status === "failed");
    if (status === "failed" && failed.length === 0) failures.push(`${file}: ${message}`);
    for (const { fullName, failureMessages } of failed) {
      failures.push(`${file}: ${fullName}\n${failureMessages.join("\n")}`);
    }
  }
  return failures;
}

const { values, positionals: parts } = parseArgs({
  allowPositionals: true,
  options: { only: { type: "string" } },
});
const chosen = days.filter(({ name }) => values.only === undefined || name === values.only);
if (chosen.length === 0) {
  console.error(`There is no such day. Name one of: ${days.map(({ name }) => name).join("; ")}.`);
  process.exit(1);
}
const faketime = findFaketime();
if (faketime === undefined) {
  console.log(
    "Skipped: install faketime (Debian: apt-get install faketime; macOS: brew install libfaketime).",
  );
  process.exit(process.env["CI"] ? 1 : 0);
}
const results: string[] = [];
for (const day of chosen) {
  const { passed, failures } = await testOn(day, faketime, parts);
  for (const failure of failures) console.log(`${day.name}: ${failure}\n`);
  if (failures.length > 0 || passed === 0) process.exitCode = 1;
  results.push(`${day.name} ${passed} passed${failures.length > 0 ? ` and ${failures.length} failed` : ""}`);
}
console.log(`Tests on other days: ${results.join(", ")}.`);
