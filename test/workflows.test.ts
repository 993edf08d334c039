import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { root } from "./run.ts";

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

interface Job {
  readonly uses?: string;
  readonly steps?: readonly Step[];
  readonly permissions?: Readonly<Record<string, string>>;
  readonly environment?: string;
  readonly "timeout-minutes"?: number;
}

interface Workflow {
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions?: unknown;
  readonly jobs: Readonly<Record<string, Job>>;
}

const read = (file: string): string => readFileSync(join(root, ".github", file), "utf8");
const workflows = globSync("*.yml", { cwd: join(root, ".github/workflows") }).sort();

/** What may run in a job that has an id token, besides a check of the digests. */
const publishing = ["actions/setup-node", "actions/download-artifact"];
const runsCode = /\b(?:npx|node|npm (?!stage publish)|yarn|pnpm|git|curl|bash|sh)\b/;

/** The rules that a workflow breaks. */
function faultsOf(text: string): string[] {
  const { on, permissions, jobs }: Workflow = parse(text);
  const found = Object.keys(on)
    .filter((event) => ["pull_request_target", "workflow_run", "issue_comment"].includes(event))
    .map((event) => `${event} runs with the rights of the repository on what a stranger wrote`);
  if (JSON.stringify(permissions) !== "{}") found.push("the workflow has permissions, instead of each job");
  if (/\bsecrets\b/.test(text)) found.push("a secret is used");
  for (const line of text.match(/uses: (?!\.\/).*/g) ?? [])
    if (!/^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))
      found.push(`${line} is not pinned by a hash`);
  for (const [name, job] of Object.entries(jobs)) {
    if (job.permissions === undefined) found.push(`${name} has no permissions of its own`);
    if (job.uses === undefined && job["timeout-minutes"] === undefined)
      found.push(`${name} has no time limit`);
    const steps = job.steps ?? [];
    for (const { uses = "", run = "", with: inputs } of steps) {
      if (run.includes("${{")) found.push(`${name} has an expression inside run`);
      if (uses.startsWith("actions/checkout") && inputs?.["persist-credentials"] !== false)
        found.push(`${name} keeps the token of the checkout`);
      if (uses.startsWith("actions/setup-node") && inputs?.["package-manager-cache"] !== false)
        found.push(`${name} shares a cache`);
    }
    if (job.permissions?.["id-token"] !== undefined) found.push(...publishingFaults(name, job, steps));
  }
  return found;
}

function publishingFaults(name: string, job: Job, steps: readonly Step[]): string[] {
  const actions = steps.flatMap(({ uses }) => uses?.split("@")[0] ?? []);
  const commands = steps.map(({ run = "" }) => run).join("\n");
  return [
    ...(job.environment === undefined ? [`${name} publishes without an environment`] : []),
    ...(Object.keys(job.permissions ?? {}).length > 1 ? [`${name} has more than an id token`] : []),
    ...actions
      .filter((action) => !publishing.includes(action))
      .map((action) => `${name} publishes, and runs ${action}`),
    ...(runsCode.test(commands) ? [`${name} publishes, and runs ${runsCode.exec(commands)?.[0]}`] : []),
    ...(/sha256sum --check --strict SHA256SUMS[\s\S]*npm stage publish/.test(commands)
      ? []
      : [`${name} publishes what it has not checked`]),
  ];
}

describe("the workflows", () => {
  it.each(workflows)("%s keeps the rules", (file) => {
    expect(faultsOf(read(`workflows/${file}`))).toEqual([]);
  });

  it.each([
    [
      "an action by its tag",
      "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1",
      "actions/checkout@v7",
      /not pinned/,
    ],
    [
      "a trigger with the repository's rights",
      "on:\n",
      "on:\n  pull_request_target:\n",
      /pull_request_target/,
    ],
    ["rights for every job", "permissions: {}", "permissions: write-all", /instead of each job/],
    [
      "a job with the default rights",
      "    permissions:\n      contents: read\n    outputs",
      "    outputs",
      /no permissions of its own/,
    ],
    ["an expression inside run", "npm run release", `echo \${{ github.ref_name }}`, /inside run/],
    ["a kept token", "persist-credentials: false", "persist-credentials: true", /keeps the token/],
    ["a shared cache", "package-manager-cache: false", "cache: npm", /shares a cache/],
    [
      "a stored token",
      "DIGEST: ",
      `TOKEN: \${{ secrets.NPM_TOKEN }}\n          DIGEST: `,
      /a secret is used/,
    ],
    [
      "an installation next to the id token",
      "        run: |\n          while",
      "        run: |\n          npm ci\n          while",
      /runs npm/,
    ],
    [
      "a script next to the id token",
      "        run: |\n          while",
      "        run: |\n          node publish.mjs\n          while",
      /runs node/,
    ],
    [
      "more rights next to the id token",
      "id-token: write",
      "id-token: write\n      contents: write",
      /more than an id token/,
    ],
    ["no environment to approve in", "    environment: npm\n", "", /without an environment/],
    [
      "tarballs that were not checked",
      "sha256sum --check --strict SHA256SUMS\n",
      "true\n",
      /has not checked/,
    ],
    ["a publication without approval", "npm stage publish", "npm publish", /runs npm/],
  ])("a workflow with %s is found", (_, now, then, fault) => {
    const text = read("workflows/release.yml");
    expect(text).toContain(now);
    expect(faultsOf(text.replace(now, then)).join("\n")).toMatch(fault);
  });

  it("release what has passed the tests, and build nothing where it is published", () => {
    const { jobs } = parse(read("workflows/release.yml"));
    expect(jobs.test.uses).toBe("./.github/workflows/ci.yml");
    expect([jobs.build.needs, jobs.publish.needs]).toEqual(["test", "build"]);
    const withToken = workflows.flatMap((file) =>
      Object.entries<Job>(parse(read(`workflows/${file}`)).jobs)
        .filter(([, job]) => job.permissions?.["id-token"] !== undefined)
        .map(([name]) => `${file}: ${name}`),
    );
    expect(withToken).toEqual(["release.yml: publish"]);
  });
});
