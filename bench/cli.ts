// npm run bench -- cli: start-up of the built command line, compared with an empty script that imports its parser.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { median } from "./measure.ts";

const root = join(import.meta.dirname, "..");
const bin = join(root, "packages/cli/bin/esim-webhooks.js");
const parser = join(import.meta.dirname, "cli-parser.mjs");
const rounds = 41;

const calls = {
  "an empty script": ["--eval", ""],
  "one that imports the parser": [parser],
  "esim-webhooks --version": [bin, "--version"],
  "esim-webhooks --help": [bin, "--help"],
  "esim-webhooks send --help": [bin, "send", "--help"],
} as const;

export async function benchCli(): Promise<void> {
  run([join(root, "node_modules/typescript/bin/tsc"), "-b", join(root, "packages/cli")]);
  const names = Object.keys(calls) as (keyof typeof calls)[];
  const times = new Map(names.map((name) => [name, [] as number[]]));
  for (const name of names) run(calls[name]); // fills the system's file cache
  for (let round = 0; round < rounds; round++) {
    for (const name of names) times.get(name)?.push(run(calls[name]));
  }
  const of = (name: keyof typeof calls) => median(times.get(name) ?? []);
  console.log(
    "\ncli: start-up, ms, and of that of an empty script that imports the parser (wanted: below 1.5)",
  );
  for (const name of names) {
    const ratio = of(name) / of("one that imports the parser");
    console.log(`  ${name.padEnd(28)} ${of(name).toFixed(1).padStart(6)}  ${ratio.toFixed(2)}`);
  }
}

/** Runs Node.js with these arguments. Returns how long it took, in ms. */
function run(args: readonly string[]): number {
  const startedAt = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${args.join(" ")} ended with ${status}: ${stderr}`);
  return performance.now() - startedAt;
}
