import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { foldersInPlace } from "./older-peers.ts";
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
  readonly services?: Readonly<Record<string, unknown>>;
  readonly strategy?: { readonly matrix: { readonly node: readonly string[] } };
}

interface Workflow {
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions?: unknown;
  readonly jobs: Readonly<Record<string, Job>>;
}

/** A field of an issue form. */
interface Field {
  readonly type: string;
  readonly id?: string;
  readonly attributes: { readonly label?: string; readonly value?: string };
  readonly validations?: { readonly required?: boolean };
}

const read = (file: string): string => readFileSync(join(root, ".github", file), "utf8");
const workflows = globSync("*.yml", { cwd: join(root, ".github/workflows") }).sort();
const ci: Workflow = parse(read("workflows/ci.yml"));

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

  it("test on the oldest, the pinned and the newest Node.js, with Redis and Postgres", () => {
    const { strategy, services } = ci.jobs["test"] ?? {};
    expect(strategy?.matrix.node).toEqual(["22.18", "24", "26"]);
    expect(Object.keys(services ?? {})).toEqual(["redis", "postgres"]);
  });

  it("run what .ci/run runs, and look for known vulnerabilities and for weaknesses of the workflows", () => {
    const steps = Object.values(ci.jobs).flatMap((job) => job.steps ?? []);
    const commands = steps.map(({ run = "" }) => run).join("\n");
    const local = readFileSync(join(root, ".ci/run"), "utf8").match(/npm run [\w:]+/g) ?? [];
    for (const command of local) expect(commands).toContain(command);
    for (const project of ["unit", "servers"])
      expect(commands).toContain(`vitest.mjs run --project ${project}`); // npm test
    expect(commands).toContain("npm audit --omit=dev");
    expect(steps.some(({ uses }) => uses?.startsWith("zizmorcore/zizmor-action@"))).toBe(true);
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

describe("the issue forms", () => {
  const forms = globSync("ISSUE_TEMPLATE/!(config).yml", { cwd: join(root, ".github") }).sort();

  it("are the only way to open an issue: for a problem and for an idea", () => {
    expect(forms.map((file) => basename(file, ".yml"))).toEqual(["idea", "problem"]);
    expect(parse(read("ISSUE_TEMPLATE/config.yml"))).toMatchObject({ blank_issues_enabled: false });
  });

  it.each(forms)("%s has what GitHub requires of a form", (file) => {
    const { name, description, body } = parse(read(file));
    expect([name, description]).toEqual([expect.stringMatching(/\S/), expect.stringMatching(/\S/)]);
    const [texts, fields] = [true, false].map((isText) =>
      (body as Field[]).filter(({ type }) => (type === "markdown") === isText),
    );
    for (const { attributes } of texts ?? []) expect(attributes.value).toMatch(/\S/);
    for (const { type, attributes } of fields ?? []) {
      expect(["input", "textarea", "dropdown", "checkboxes"]).toContain(type);
      expect(attributes.label).toMatch(/\S/);
    }
    const ids = fields?.map(({ id }) => id);
    expect(ids).toEqual([...new Set(ids)]);
    expect(ids?.length).toBeGreaterThan(1);
  });

  it("ask for the outcome code and the output of doctor when something does not work, and for no payload", () => {
    const { body }: { body: readonly Field[] } = parse(read("ISSUE_TEMPLATE/problem.yml"));
    const required = body.filter(({ validations }) => validations?.required === true);
    expect(required.map(({ id }) => id)).toEqual(expect.arrayContaining(["outcome", "doctor", "versions"]));
    const [doctor] = required.filter(({ id }) => id === "doctor");
    expect(doctor?.attributes.label).toContain("npx esim-webhooks doctor");
    expect(read("ISSUE_TEMPLATE/problem.yml")).toContain("Never paste a signing secret");
  });
});

describe("what GitHub and Renovate read", () => {
  it("renovate.json updates weekly, pins actions by hash, and leaves the oldest supported versions alone", () => {
    const renovate = JSON.parse(read("renovate.json"));
    expect(renovate.extends).toEqual(
      expect.arrayContaining(["config:recommended", "helpers:pinGitHubActionDigests"]),
    );
    expect(renovate.minimumReleaseAge).toMatch(/^\d+ days$/);
    const oldest = [...foldersInPlace(), "test/runtimes"].map((folder) => `${folder}/**`);
    expect(oldest.length).toBeGreaterThan(3);
    expect(renovate.ignorePaths).toEqual(expect.arrayContaining(oldest));
  });

  it("SECURITY.md says how to report privately, when an answer comes, what to leave out, and what is supported", () => {
    const page = read("SECURITY.md");
    expect(page).toMatch(/privately, with \*\*Report a vulnerability\*\*[\s\S]*within three working days/);
    expect(page).toMatch(/Do not include signing\s+secrets or payloads/);
    expect(page).toContain("## Supported versions");
  });

  it("CODE_OF_CONDUCT.md names the covenant, where it applies, and how to report privately", () => {
    expect(read("CODE_OF_CONDUCT.md")).toMatch(
      /Contributor Covenant, version \d[\s\S]*It applies in issues[\s\S]*Report a violation privately/,
    );
  });

  it.each(["SECURITY.md", "CODE_OF_CONDUCT.md"])("%s has no dead link to a file", (page) => {
    for (const [, link = ""] of read(page).matchAll(/\]\((?!https:)([^)#]+)/g))
      expect(existsSync(join(root, ".github", link)), link).toBe(true);
  });
});
