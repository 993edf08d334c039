import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { oldestNode, withoutOldestNode } from "./oldest-node.ts";
import { root, runCommand } from "./run.ts";

let clone: string;
beforeEach(() => {
  clone = mkdtempSync(join(tmpdir(), "bootstrap-"));
  mkdirSync(join(clone, "scripts"));
  copyFileSync(join(root, "scripts/bootstrap.mjs"), join(clone, "scripts/bootstrap.mjs"));
  writeProject(".", {
    dependencies: { runtime: "file:runtime" },
    devDependencies: { tool: "file:tool" },
    optionalDependencies: { pinned: "file:pinned" },
  });
  writeProject("peers", { dependencies: { peer: "file:peer" } });
});
afterEach(() => rmSync(clone, { recursive: true }));

type Dependencies = Record<string, string>;

/** A project whose dependencies are empty packages in folders of its own, so that no registry is asked. */
function writeProject(folder: string, project: Record<string, Dependencies>): void {
  const facts = { name: "project", version: "1.0.0", description: "the peers", ...project };
  const packages: Record<string, object> = { "": facts };
  for (const [kind, dependencies] of Object.entries(project)) {
    const flag = {
      ...(kind.startsWith("dev") && { dev: true }),
      ...(kind.startsWith("opt") && { optional: true }),
    };
    for (const name of Object.keys(dependencies)) {
      mkdirSync(join(clone, folder, name), { recursive: true });
      writeFileSync(join(clone, folder, name, "package.json"), JSON.stringify({ name, version: "1.0.0" }));
      packages[name] = { version: "1.0.0", ...flag };
      packages[`node_modules/${name}`] = { resolved: name, link: true, ...flag };
    }
  }
  writeFileSync(join(clone, folder, "package.json"), JSON.stringify(facts));
  writeFileSync(
    join(clone, folder, "package-lock.json"),
    JSON.stringify({ ...facts, lockfileVersion: 3, requires: true, packages }),
  );
}

interface Bootstrap {
  readonly child: ChildProcess;
  /** Resolves when its standard error has this text. */
  said(text: string): Promise<void>;
  readonly ended: Promise<{ readonly code: number | null; readonly stderr: string }>;
}

function start(sets: readonly string[] = [], flags: readonly string[] = []): Bootstrap {
  const child = spawn(process.execPath, [...flags, join(clone, "scripts/bootstrap.mjs"), ...sets], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let stderr = "";
  child.stderr.on("data", (text) => {
    stderr += text;
  });
  return {
    child,
    async said(text) {
      while (!stderr.includes(text)) await once(child.stderr, "data");
    },
    ended: once(child, "close").then(([code]) => ({ code, stderr })),
  };
}

const bootstrap = async (...sets: string[]) => (await start(sets).ended).code;

/** Which of the packages are installed. */
const installed = () =>
  globSync("{,peers/}node_modules/{runtime,tool,pinned,peer}/package.json", { cwd: clone })
    .map((path) => path.replace("/package.json", "").replace("node_modules/", ""))
    .sort();

describe("the first command in a fresh clone", () => {
  it("installs what it needs once, also when five are started together, and says what is installed", async () => {
    const all = await Promise.all(Array.from({ length: 5 }, () => start().ended));
    expect(all.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0]);
    const installing = all.filter(({ stderr }) => stderr.includes("Installing"));
    expect(installing.map(({ stderr }) => stderr)).toEqual([
      expect.stringMatching(
        /^Installing what the sandbox, the receiver and the demo need … 0 s\n[\s\S]*… \d+ s: finished\.\n$/,
      ),
    ]);
    expect(installed()).toEqual(["runtime"]);
    expect(existsSync(join(clone, ".installing"))).toBe(false);
  });

  it("says which process it waits for, what that installs, and which file to delete if it is another program", async () => {
    writeFileSync(join(clone, ".installing"), `${process.pid} Next.js`);
    const waiting = start();
    await waiting.said("Waiting for Next.js … 0 s");
    rmSync(join(clone, ".installing"));
    const { code, stderr } = await waiting.ended;
    expect(code).toBe(0);
    expect(stderr).toContain(
      `Process ${process.pid} is installing. If it is another program, delete ${join(clone, ".installing")}.`,
    );
  });

  it("installs everything again after an installation that was killed", async () => {
    const killed = spawn(process.execPath, ["-e", ""]);
    await once(killed, "exit");
    writeFileSync(join(clone, ".installing"), `${killed.pid} Next.js`);
    mkdirSync(join(clone, "node_modules/half-written"), { recursive: true });
    expect(await bootstrap()).toBe(0);
    expect(installed()).toEqual(["runtime"]);
    expect(existsSync(join(clone, "node_modules/half-written"))).toBe(false);
  });

  it("prints npm's message and fails when npm fails, and the next one tries again", async () => {
    const lock = readFileSync(join(clone, "package-lock.json"));
    writeFileSync(join(clone, "package-lock.json"), "{}");
    const { code, stderr } = await start().ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(/npm error [\s\S]*The dependencies could not be installed\. npm's message above/);
    writeFileSync(join(clone, "package-lock.json"), lock);
    expect(await bootstrap()).toBe(0);
  });

  it("brings the pinned Node.js only when the one that runs it cannot run the sources", async () => {
    expect((await start([], ["--no-experimental-strip-types"]).ended).code).toBe(0);
    expect(installed()).toEqual(["pinned", "runtime"]);
  });
});

describe("a command that needs more than the first one", () => {
  it("adds what is missing, and leaves what another command may be running as it is", async () => {
    await bootstrap();
    writeFileSync(join(clone, "node_modules/.untouched"), "");
    expect(await bootstrap("development")).toBe(0);
    expect(installed()).toEqual(["pinned", "runtime", "tool"]);
    expect(existsSync(join(clone, "node_modules/.untouched"))).toBe(true);
  });

  it("keeps what it has brought when a later command needs less, also after the lock file has changed", async () => {
    await bootstrap("development");
    expect((await start().ended).stderr).toBe("");
    const lock = join(clone, "package-lock.json");
    writeFileSync(lock, `${readFileSync(lock, "utf8")}\n`);
    expect((await start().ended).stderr).toContain("Installing");
    expect(installed()).toEqual(["pinned", "runtime", "tool"]);
  });

  it("installs what only some tests need into its own folder", async () => {
    const { code, stderr } = await start(["peers"]).ended;
    expect([code, installed()]).toEqual([0, ["peers/peer"]]);
    expect(stderr).toContain("Installing the peers … 0 s");
  });
});

describe("what the sandbox, the receiver and the demo need", () => {
  it("is no development dependency", () => {
    const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
    const imported = /^(?:import|export) (?!type )[^;]*? ?from "((?:@[^/"]+\/)?[a-z][^/:".]*)[/"]/gm;
    const files = globSync("{examples/{demo,receiver}/*.ts,packages/*/src/**/*.ts}", {
      cwd: root,
      exclude: ["packages/{nest,lambda}/**"], // of all packages, those that no command loads
    });
    const names = files.flatMap((file) => {
      const found = readFileSync(join(root, file), "utf8").matchAll(imported);
      const own = `${file.split("/src/")[0]}/node_modules/`;
      return Array.from(found, ([, name]) => (packages[`${own}${name}`] ? own : "node_modules/") + name);
    });
    expect(names).toContain("node_modules/standardwebhooks");
    expect(names.filter((name) => packages[name]?.dev ?? packages[name] === undefined)).toEqual([]);
  });

  it.skipIf(withoutOldestNode)("runs on the oldest Node.js, which then need not be installed", async () => {
    const scripts = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).scripts;
    const [, ...demo] = scripts.demo.split(" ");
    const { code, output } = await runCommand(oldestNode, demo).ended;
    expect(output).toContain("The ledger balances");
    expect(output).not.toContain("ExperimentalWarning");
    expect(code).toBe(0);
    const [, ...sandbox] = scripts.sandbox.split(" ");
    const service = runCommand(oldestNode, [...sandbox, "--port", "0"]);
    await service.line(/^The partner service runs/);
    service.child.kill();
    expect((await service.ended).output).not.toContain("ExperimentalWarning");
  });
});
