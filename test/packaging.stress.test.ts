import { execFileSync, spawnSync } from "node:child_process";
import {
  cpSync,
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
import { basename, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openTypeScript5 } from "./editors/typescript-5.ts";
import { openTypeScript7 } from "./editors/typescript-7.ts";
import { oldestNode, withoutOldestNode } from "./oldest-node.ts";
import { root } from "./run.ts";

const project = mkdtempSync(join(tmpdir(), "esim-webhooks-packed-"));
const packages = globSync("packages/*/package.json", { cwd: root }).map((file) => join(root, dirname(file)));
const readmes = packages.map((folder) => readFileSync(join(folder, "README.md"), "utf8"));
const manifests = packages.map((folder) => JSON.parse(readFileSync(join(folder, "package.json"), "utf8")));

function run(command: string, args: readonly string[], cwd = project): string {
  return execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

/** Puts a dependency of the workspace beside the packed packages, as npm would. */
function link(name: string): void {
  const target = join(project, "node_modules", name);
  mkdirSync(dirname(target), { recursive: true });
  symlinkSync(join(root, "node_modules", name), target);
}

beforeAll(() => {
  run(join(root, "node_modules/.bin/tsc"), ["-b", ...packages], root);
  writeFileSync(join(project, "package.json"), '{ "type": "module" }');
  const compilerOptions = {
    strict: true,
    noEmit: true,
    module: "nodenext",
    target: "es2024",
    types: ["node"],
    exactOptionalPropertyTypes: true,
  };
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["user.ts"] }));
  for (const [index, folder] of packages.entries()) {
    run("npm", ["pack", "--silent", "--pack-destination", project], folder);
    const name = manifests[index].name as string;
    const target = join(project, "node_modules", name);
    const tarball = globSync(`${name.replace("@", "").replace("/", "-")}-*.tgz`, { cwd: project })[0] ?? "";
    run("tar", ["-xzf", tarball]);
    cpSync(join(project, "package"), target, { recursive: true });
    rmSync(join(project, "package"), { recursive: true });
  }
  const external = manifests.flatMap(({ dependencies = {}, peerDependencies = {} }) =>
    Object.keys({ ...dependencies, ...peerDependencies }).filter(
      (name) => !name.startsWith("@esim-webhooks/") && !name.startsWith("@types/"),
    ),
  );
  for (const name of new Set([...external, "@types", "typescript", "undici-types"])) link(name);
});

afterAll(() => rmSync(project, { recursive: true, force: true }));

describe("the packed packages, installed elsewhere", () => {
  it.each(manifests.map(({ name }) => basename(name)))(
    "%s has a licence, types and nothing but what it needs",
    (name) => {
      const folder = join(project, "node_modules/@esim-webhooks", name);
      const served = name === "sandbox" ? ["page"] : [];
      expect(readdirSync(folder).sort()).toEqual([
        "LICENSE",
        "README.md",
        ...(name === "dashboard" ? ["assets"] : []),
        ...(name === "cli" ? ["bin"] : []),
        "dist",
        ...(name === "otel" ? ["monitoring"] : []),
        "package.json",
        ...served,
        "src",
      ]);
      expect(globSync("dist/**/*.d.ts", { cwd: folder }).length).toBeGreaterThan(0);
      expect(manifests.find((manifest) => manifest.name.endsWith(`/${name}`))).toMatchObject({
        license: "MIT",
        type: "module",
      });
    },
  );

  it("have READMEs without links that are dead elsewhere, and the working tree keeps its own", () => {
    for (const [index, folder] of packages.entries()) {
      const packed = join(project, "node_modules", manifests[index].name, "README.md");
      expect(readFileSync(packed, "utf8")).not.toMatch(/\]\((?!https?:|#)/);
      expect(readFileSync(join(folder, "README.md"), "utf8")).toBe(readmes[index]);
      expect(readdirSync(folder)).not.toContain(".README.md.kept");
    }
  });

  it("import from every entry, as JavaScript", () => {
    const entries = manifests.flatMap(({ name, exports }) =>
      Object.keys(exports)
        .filter((path) => !path.includes("*"))
        .map((path) => join(name, path)),
    );
    const script = `for (const entry of ${JSON.stringify(entries)}) {
      const names = Object.keys(await import(entry));
      if (names.length === 0) throw new Error(entry + " exports nothing");
    }
    console.log("imported");`;
    writeFileSync(join(project, "imports.mjs"), script);
    expect(run(process.execPath, ["imports.mjs"])).toBe("imported\n");
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
    mkdirSync(dirname(bin), { recursive: true });
    symlinkSync("../@esim-webhooks/cli/bin/esim-webhooks.js", bin);
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
