import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { esimCatalog } from "@esim-webhooks/core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { installLines } from "../scripts/release/install-lines.ts";
import { readManifests, withNeeded } from "../scripts/release/manifest.ts";
import { openTypeScript5 } from "./editors/typescript-5.ts";
import { openTypeScript7 } from "./editors/typescript-7.ts";
import { installed } from "./installed.ts";
import { oldestNode, withoutOldestNode } from "./oldest-node.ts";
import { startRegistry } from "./package-registry.ts";
import { makeClone, manifests, names, release, runIn } from "./release-clone.ts";
import { root, runCommand } from "./run.ts";
import { followStartPage, startCommands } from "./start-page.ts";

const place = mkdtempSync(join(tmpdir(), "esim-webhooks-packed-"));
const project = join(place, "project");
const clone = join(place, "clone");

/** The kilobytes that each tarball may have: a tenth more than it had when this was written. */
const limits: Readonly<Record<string, number>> = {
  cli: 425,
  client: 100,
  cloudflare: 20,
  conformance: 205,
  core: 550,
  dashboard: 127,
  endpoint: 170,
  express: 6,
  fastify: 10,
  import: 170,
  lambda: 52,
  nest: 21,
  otel: 50,
  "queue-bullmq": 115,
  sandbox: 235,
  "store-postgres": 185,
  "store-redis": 39,
  "store-sqlite": 174,
};

/** Runs a command with this Node.js, in the project. */
const run = (command: string, args: readonly string[], cwd = project, node = process.execPath): string =>
  runIn(cwd, command, args, node);
const tarballs = (folder: string): string[] =>
  globSync("release/*.tgz", { cwd: folder }).map((file) => join(folder, file));

/**
 * Installs by the commands of docs/start.md in an empty project, with the tarballs in place of our packages. The oldest Node.js does it,
 * if it is there: npm refuses packages that are not for it.
 */
async function install(): Promise<void> {
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), '{ "type": "module" }');
  const flags = "--engine-strict --prefer-offline --no-audit --no-fund @types/node@24";
  const packed = tarballs(clone).map((file) => ` '${file}'`);
  const { commands } = await startCommands();
  for (const command of commands.filter((text) => text.startsWith("npm "))) {
    const shell = command.replace(/(?: @esim-webhooks\/\S+)+/, ` ${flags} ${packed.join("")}`);
    run("bash", ["-c", shell], project, withoutOldestNode === undefined ? oldestNode : process.execPath);
  }
}

let printed: string;
beforeAll(async () => {
  makeClone(clone);
  printed = release(clone);
  await install();
  const compilerOptions = {
    strict: true,
    noEmit: true,
    module: "nodenext",
    target: "es2024",
    types: ["node"],
    exactOptionalPropertyTypes: true,
  };
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["user.ts"] }));
});

afterAll(() => rmSync(place, { recursive: true, force: true }));

describe("a dry run of the release, in a fresh clone", () => {
  it("ends with the packages that could be published, and their digests", () => {
    for (const { name, version } of manifests)
      expect(printed).toMatch(
        new RegExp(
          `^${name}@${version}  release/.*\\.tgz  \\d+ kB\n  sha256:[0-9a-f]{64}\n  sha512-[A-Za-z0-9+/]{86}==$`,
          "m",
        ),
      );
    expect(printed).toMatch(new RegExp(`\n${manifests.length} packages could be published.*\n$`));
    expect(run("sha256sum", ["--check", "--strict", "SHA256SUMS"], join(clone, "release"))).toContain(
      "core-0.1.0.tgz: OK",
    );
  });

  it.each(names)("makes a tarball of %s that is no larger than its limit", (name) => {
    const size = new RegExp(`^@esim-webhooks/${name}@.* (\\d+) kB$`, "m").exec(printed)?.[1];
    expect(Number(size)).toBeLessThanOrEqual(limits[name] ?? 0);
  });

  it("makes packages whose types are right for every way to resolve an ES module", async () => {
    const { checkPackage, createPackageFromTarballData } = await import(
      join(installed("test/publishing"), "@arethetypeswrong/core/dist/index.js")
    );
    for (const tarball of tarballs(clone)) {
      const { types, problems } = await checkPackage(createPackageFromTarballData(readFileSync(tarball)));
      expect(types, tarball).toMatchObject({ kind: "included" });
      const commonJs = ["node10", "node16-cjs"]; // the packages are ES modules only
      expect(
        problems.filter((it: { resolutionKind?: string }) => !commonJs.includes(it.resolutionKind ?? "")),
        tarball,
      ).toEqual([]);
    }
  });
});

/** The peers of all packages that npm does not install unless they are asked for. */
const optionalPeers = manifests.flatMap(({ peerDependenciesMeta = {} }) => Object.keys(peerDependenciesMeta));

/** Imports every entry of every package. One that needs an optional peer says which. */
const imports = `for (const entry of ${JSON.stringify(
  manifests.flatMap(({ name, exports }) =>
    Object.keys(exports)
      .filter((path) => !path.includes("*"))
      .map((path) => join(name, path)),
  ),
)}) {
  try {
    const names = Object.keys(await import(entry));
    if (names.length === 0) throw new Error(entry + " exports nothing");
  } catch (error) {
    const missing = /Cannot find package '([^']+)'/.exec(error.message)?.[1];
    if (!${JSON.stringify(optionalPeers)}.includes(missing)) throw error;
  }
}
console.log("imported on " + process.versions.node);`;

/** The commands of package managers and of other runtimes. */
const managers = (["test/publishing", "test/runtimes"] as const)
  .map((folder) => join(installed(folder), ".bin"))
  .join(delimiter);

const program = "packaged-user.ts";
const printedByUser = `keys true true
state 2
delivered 200 {"outcome":"processed"}
delivered 202 {"outcome":"stored"}
worked esim.enabled
imported 1 of 2
asset 200
`;
const noRecords = "The dump contains no records.\n";

/** Makes a project with a program and a config, in which nothing is installed. */
function makeUser(name: string): string {
  const folder = join(place, name);
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), '{ "name": "user", "type": "module" }');
  cpSync(join(import.meta.dirname, program), join(folder, program));
  writeFileSync(
    join(folder, "esim-webhooks.config.ts"),
    `import { defineConfig } from "@esim-webhooks/cli";
const secret: string = "whsec_${"Zm9v".repeat(8)}";
export default defineConfig({ secret, handlers: { "*": () => {} } });
`,
  );
  writeFileSync(join(folder, "empty.ndjson"), "");
  return folder;
}

describe("the packed packages, installed elsewhere", () => {
  it.each(names)("%s has a licence, types and nothing but what it needs", (name) => {
    const folder = join(project, "node_modules/@esim-webhooks", name);
    const own: Readonly<Record<string, readonly string[]>> = {
      cli: ["bin"],
      core: ["events", "skills"],
      dashboard: ["assets"],
      otel: ["monitoring"],
      sandbox: ["page"],
    };
    const files = ["LICENSE", "README.md", "dist", "package.json", "src", ...(own[name] ?? [])];
    expect(readdirSync(folder).sort()).toEqual(files.sort());
    expect(globSync("dist/**/*.d.ts", { cwd: folder }).length).toBeGreaterThan(0);
    expect(manifests.find((manifest) => manifest.name.endsWith(`/${name}`))).toMatchObject({
      license: "MIT",
      type: "module",
    });
  });

  it("have READMEs without links that are dead elsewhere, and the clone keeps its own", () => {
    for (const name of names) {
      const readme = readFileSync(join(project, "node_modules/@esim-webhooks", name, "README.md"), "utf8");
      expect(readme).not.toMatch(/\]\((?!https?:|#)/);
    }
  });

  it("are made in a copy, so that nothing in the clone changes, and none is left when it is stopped", async () => {
    const folder = join(clone, "packages/core");
    expect(readdirSync(folder)).not.toContain("dist");
    expect(readFileSync(join(folder, "README.md"))).toEqual(
      readFileSync(join(root, "packages/core/README.md")),
    );
    const copies = mkdtempSync(join(place, "copies-"));
    const pack = ["--conditions=@esim-webhooks/source", join(clone, "scripts/release/pack.ts"), "core"];
    const child = spawn(process.execPath, pack, { env: { ...process.env, TMPDIR: copies } });
    let printed = "";
    child.stderr.setEncoding("utf8").on("data", (text) => {
      printed += text;
      if (printed.includes("Building core")) child.kill("SIGINT");
    });
    const [, signal] = await once(child, "close");
    expect(signal, printed).toBe("SIGINT");
    expect(readdirSync(copies)).toEqual([]);
    expect(existsSync(join(clone, "packed"))).toBe(false);
  });

  it.each([
    ["pnpm", [process.execPath], ["pnpm", "exec"]],
    // without NODE_OPTIONS, which `yarn node` would set: a thread gets Plug'n'Play by its flags alone
    ["yarn", [process.execPath, "-r", "./.pnp.cjs", "--experimental-loader", "./.pnp.loader.mjs"], ["yarn"]],
    ["bun", ["bun"], ["bunx", "--bun"]],
  ])(
    "install with %s by the command that npm run pack prints, keep files and events, and run as a command",
    (manager, runtime, exec) => {
      const folder = makeUser(manager);
      const packed = withNeeded(readManifests(), ["packages/cli"]);
      const line = installLines([...packed.values()], join(clone, "release")).get(manager) ?? "";
      const environment = `export PATH='${managers}':$PATH YARN_ENABLE_TELEMETRY=0`;
      const shell = (command: string) => run("bash", ["-c", `${environment}; ${command}`], folder);
      shell(line + (manager === "pnpm" ? " --prefer-offline" : ""));
      expect(shell([...runtime, program].join(" "))).toBe(printedByUser);
      expect(shell([...exec, "esim-webhooks", "import", "empty.ndjson"].join(" "))).toBe(noRecords);
    },
  );

  it("run with Deno from its cache of npm packages, keep files and events, and run as a command", async () => {
    const folder = makeUser("deno");
    const packed = [...withNeeded(readManifests(), ["packages/cli"]).values()];
    const registry = await startRegistry(packed, join(clone, "release"));
    onTestFinished(registry.close);
    writeFileSync(join(folder, ".npmrc"), `@esim-webhooks:registry=${registry.url}\n`);
    const imports = Object.fromEntries(
      packed.flatMap(({ name }) => [
        [name, `npm:${name}`],
        [`${name}/`, `npm:/${name}/`],
      ]),
    );
    writeFileSync(join(folder, "deno.json"), JSON.stringify({ nodeModulesDir: "none", imports }));
    const deno = (...args: readonly string[]) =>
      runCommand(
        join(installed("test/runtimes"), ".bin/deno"),
        ["run", "--quiet", "--allow-all", ...args],
        { DENO_DIR: join(folder, "cache") }, // the version of the packages is always the same
        folder,
      ).ended;
    expect(await deno(program)).toEqual({ code: 0, output: printedByUser });
    expect(await deno("npm:@esim-webhooks/cli", "import", "empty.ndjson")).toEqual({
      code: 0,
      output: noRecords,
    });
  });

  it("import from every entry, as JavaScript", () => {
    writeFileSync(join(project, "imports.js"), imports);
    expect(run(process.execPath, ["imports.js"])).toBe(`imported on ${process.versions.node}\n`);
  });

  it("install into an empty project on Node.js 22.18, import from every entry, and run as a command", (context) => {
    context.skip(withoutOldestNode !== undefined, withoutOldestNode);
    writeFileSync(join(project, "imports-22.js"), imports);
    expect(run(oldestNode, ["imports-22.js"])).toBe("imported on 22.18.0\n");
    expect(run(join(project, "node_modules/.bin/esim-webhooks"), ["--version"], project, oldestNode)).toBe(
      `${manifests[0]?.version}\n`,
    );
  });

  it("have an AsyncAPI document in which the parser of AsyncAPI finds nothing to say, with every event type", async () => {
    const { Parser } = await import(join(installed("test/publishing"), "@asyncapi/parser/cjs/index.js"));
    const file = join(project, "node_modules/@esim-webhooks/core/events/asyncapi.json");
    const { document, diagnostics } = await new Parser().parse(readFileSync(file, "utf8"));
    expect(diagnostics.map(({ message }: { message: string }) => message)).toEqual([]);
    expect(document.allMessages().all()).toHaveLength(esimCatalog.types.length);
    const broken = readFileSync(file, "utf8").replace('"action": "receive"', '"action": "take"');
    expect((await new Parser().parse(broken)).document).toBeUndefined();
  });

  it("serve the dashboard's page", () => {
    const script = `import { inboxDashboard } from "@esim-webhooks/dashboard";
      import { memoryInbox } from "@esim-webhooks/core/testing";
      const dashboard = inboxDashboard(memoryInbox(), { authorize: () => ({ role: "viewer", name: "vera" }) });
      for (const path of ["", "assets/dashboard.js", "assets/dashboard.css"]) {
        const response = await dashboard(new Request("http://localhost/inbox/" + path));
        console.log(response.status, (await response.text()).length > 100);
      }`;
    writeFileSync(join(project, "dashboard.mjs"), script);
    expect(run(process.execPath, ["dashboard.mjs"])).toBe("200 true\n200 true\n200 true\n");
  });

  it("serve the sandbox's page", () => {
    const script = `import { startSandbox } from "@esim-webhooks/sandbox";
      await using sandbox = await startSandbox();
      const page = await fetch(sandbox.controlUrl);
      const module = await fetch(new URL("page.js", page.url));
      console.log(await page.text(), module.status, module.headers.get("content-type"));`;
    writeFileSync(join(project, "page.mjs"), script);
    expect(run(process.execPath, ["page.mjs"])).toMatch(/<title>eSIM sandbox[\s\S]* 200 text\/javascript/);
  });

  it("run as a command, as npx does, from their own files alone", () => {
    const bin = join(project, "node_modules/.bin/esim-webhooks");
    expect(run(bin, ["--version"])).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect(run(bin, ["send", "--help"])).toContain("esim-webhooks send esim.faulted");
    writeFileSync(
      join(project, "esim-webhooks.config.ts"),
      `import { defineConfig } from "@esim-webhooks/cli";
export default defineConfig({ secret: "whsec_${"Zm9v".repeat(8)}", handlers: { "esim.faulted": ({ data }) => void data.iccid } });
`,
    );
    expect(run(bin, ["doctor"])).toMatch(/✔ ok {2}handlers {2}esim\.faulted/);
    writeFileSync(join(project, "empty.ndjson"), "");
    run(bin, ["import", "empty.ndjson"]); // opens the embedded store: its thread is in the package
    expect(run(bin, ["doctor"])).toContain("the embedded inbox in .esim-webhooks; durable");
  });

  it("get a new user from nothing to a reconciled receiver with a dashboard and an alert, by the commands of docs/start.md", async () => {
    const folder = join(project, "esims");
    mkdirSync(folder);
    symlinkSync("../node_modules", join(folder, "node_modules")); // by the page's commands
    await followStartPage(
      folder,
      `PATH='${dirname(process.execPath)}':$PATH; npx() { exec "node_modules/.bin/$@"; }`,
    );
  });

  it("need at most 15 commands of docs/start.md, each part of a chain or a pipe counted, and it says how many", async () => {
    const { page, commands } = await startCommands();
    expect(commands.length).toBeLessThanOrEqual(15);
    expect(page).toContain(`\n${commands.length} commands, against `);
  });

  it("run as a command on the oldest Node.js, and say nothing of what is experimental in it", (context) => {
    context.skip(withoutOldestNode !== undefined, withoutOldestNode);
    const bin = join(project, "node_modules/@esim-webhooks/cli/bin/esim-webhooks.js");
    const cwd = join(project, "oldest");
    mkdirSync(cwd);
    writeFileSync(
      join(cwd, "esim-webhooks.config.ts"),
      `import { sqliteInbox } from "@esim-webhooks/store-sqlite";
const secret: string = "whsec_${"Zm9v".repeat(8)}";
export default { secret, target: sqliteInbox({ path: "events.db" }), handlers: { "*": () => {} } };
`,
    );
    for (const args of [["doctor"], ["inbox", "stats"]]) {
      const { stdout, stderr } = spawnSync(oldestNode, [bin, ...args], { cwd, encoding: "utf8" });
      expect(stderr + stdout).toContain("wal_reset_bug"); // so it has opened the file
      expect(stderr + stdout).not.toMatch(/experimental/i);
    }
  });

  it("type-check a user's strict TypeScript against the declarations alone", () => {
    writeFileSync(
      join(project, "user.ts"),
      `import { defineConfig } from "@esim-webhooks/cli";
import { defineCatalog, type EventOf, type EsimEvents } from "@esim-webhooks/core";
import { signedRequest } from "@esim-webhooks/core/testing";
import { webhookRouter } from "@esim-webhooks/express";
import { postgresStore } from "@esim-webhooks/store-postgres";
import type { Transaction } from "kysely";
import { z } from "zod";
const catalog = defineCatalog({ "package.created": z.object({ price: z.number() }) });
webhookRouter({ "package.created": ({ data }) => data.price.toFixed(2), "esim.*": ({ data }) => data.esimReference }, { catalog });
export const request = signedRequest({ type: "esim.faulted", data: {} }, { secret: "" });
export type All = EventOf<EsimEvents>;
interface Shop { orders: { reference: string } }
const order = (tx: Transaction<Shop>, reference: string) => tx.insertInto("orders").values({ reference }).execute();
const store = postgresStore<Shop>({ url: "postgres://localhost/shop" });
webhookRouter({ "esim.faulted": ({ data }, { tx }) => order(tx, data.esimReference) }, { store, secret: "" });
export const config = defineConfig({ catalog, handlers: { "package.created": ({ data }) => data.price.toFixed(2) } });
// @ts-expect-error misspelt
webhookRouter({ "esim.fautled": () => {} });
`,
    );
    expect(run(join(root, "node_modules/.bin/tsc"), ["-p", "."])).toBe("");
  });

  it.each([
    ["5.9", openTypeScript5],
    ["7", openTypeScript7],
  ])("complete event types by the declarations alone, with TypeScript %s", async (_, open) => {
    const editor = await open(project);
    const importing = 'import { webhookRouter } from "@esim-webhooks/express";';
    const offered = await editor.complete(`${importing} webhookRouter({ "▮" });`);
    await editor.close();
    expect(offered).toEqual(expect.arrayContaining(["esim.faulted", "esim.lifecycle.*", "*"]));
  });

  it("have frameworks and kysely as peers, so that a user's types are those of one copy", () => {
    const peers = manifests.flatMap(({ peerDependencies = {} }) => Object.keys(peerDependencies));
    expect(peers).toEqual(expect.arrayContaining(["express", "fastify", "kysely"]));
    const libraries = manifests.filter(({ name }) => name !== "@esim-webhooks/cli");
    const dependencies = libraries.flatMap(({ dependencies = {} }) => Object.keys(dependencies));
    expect(dependencies.filter((name) => peers.includes(name))).toEqual([]);
  });
});
