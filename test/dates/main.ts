// Runs the unit tests, and others that depend on dates, on other days and in another time zone: `npm run test:dates`. Arguments
// are parts of the paths of test files.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { program } from "../servers/binaries.ts";

interface Day {
  readonly name: string;
  /** How far the wall clock is moved, as `faketime` takes it. Unset: it stays as it is. */
  readonly shift?: string;
  readonly env?: Readonly<Record<string, string>>;
}

const days: readonly Day[] = [
  { name: "tomorrow", shift: "+1d" },
  { name: "in 30 days", shift: "+30d" },
  { name: "in 400 days", shift: "+400d" },
  { name: "in St. John's", env: { TZ: "America/St_Johns" } }, // half an hour off the full hours, with DST
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
const longestMs = 20 * 60_000; // ends a run that hangs

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
  faketime: string | undefined,
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
  const [command = "", ...args] =
    shift === undefined || faketime === undefined ? vitest : [faketime, "-f", shift, ...vitest];
  try {
    const { code, output } = await run(command, args, { ...env, FAKETIME_DONT_FAKE_MONOTONIC: "1" });
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

const parts = process.argv.slice(2);
const faketime = findFaketime();
const isSkipped = ({ shift }: Day) => shift !== undefined && faketime === undefined;
const skipped = days.filter(isSkipped);
if (skipped.length > 0) {
  const names = skipped.map(({ name }) => name).join(", ");
  console.log(
    `Skipped (${names}): install faketime (Debian: apt-get install faketime; macOS: brew install libfaketime).`,
  );
  if (process.env["CI"]) process.exitCode = 1;
}
const results: string[] = [];
for (const day of days.filter((one) => !isSkipped(one))) {
  const { passed, failures } = await testOn(day, faketime, parts);
  for (const failure of failures) console.log(`${day.name}: ${failure}\n`);
  if (failures.length > 0 || passed === 0) process.exitCode = 1;
  results.push(`${day.name} ${passed} passed${failures.length > 0 ? ` and ${failures.length} failed` : ""}`);
}
console.log(`Tests on other days: ${results.join(", ")}.`);
