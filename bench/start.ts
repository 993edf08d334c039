// npm run bench -- start: how many files an import of the built core loads, and how long it takes, compared with its peers.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { median } from "./measure.ts";

const root = join(import.meta.dirname, "..");
const counter = join(import.meta.dirname, "modules.mjs");
const rounds = 11;

const packages = ["@esim-webhooks/core", "express", "fastify", "hono", "zod/mini", "standardwebhooks"];
const scripts = ["", ...packages.map((name) => `import ${JSON.stringify(name)}`)];

export async function benchStart(): Promise<void> {
  run([join(root, "node_modules/typescript/bin/tsc"), "-b", join(root, "packages/core")]);
  const times = new Map(scripts.map((script) => [script, [] as number[]]));
  for (let round = -1; round < rounds; round++) {
    for (const script of scripts) {
      const startedAt = performance.now();
      run(["--input-type=module", "--eval", script]);
      if (round >= 0) times.get(script)?.push(performance.now() - startedAt); // the first round fills the system's file cache
    }
  }
  const [empty = 0, ...medians] = [...times.values()].map(median);
  console.log(
    "\nstart: files that an import loads, its own and its dependencies', and ms over an empty script",
  );
  console.log("  wanted: core in at most 1.5 × the time of express; zod/mini is half of it");
  for (const [index, name] of packages.entries()) {
    const files = run([counter, name]).trim().split("\n");
    const own = files.filter((url) => packageOf(url) === name.split("/mini")[0]).length;
    const counts = `${own} + ${files.length - own}`;
    console.log(
      `  ${name.padEnd(22)} ${counts.padStart(9)} ${((medians[index] ?? 0) - empty).toFixed(1).padStart(6)} ms`,
    );
  }
}

function packageOf(url: string): string | undefined {
  const workspace = /\/packages\/([^/]+)\/dist\//.exec(url);
  if (workspace !== null) return `@esim-webhooks/${workspace[1]}`;
  return url
    .split("/node_modules/")
    .at(-1)
    ?.match(/^(?:@[^/]+\/)?[^/]+/)?.[0];
}

function run(args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", cwd: root });
  if (status !== 0) throw new Error(`${args.join(" ")} ended with ${status}: ${stderr}`);
  return stdout;
}
