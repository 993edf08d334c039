import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { root } from "./run.ts";

let clone: string;
beforeEach(() => {
  clone = mkdtempSync(join(tmpdir(), "bootstrap-"));
  mkdirSync(join(clone, "scripts"));
  mkdirSync(join(clone, "nothing"));
  copyFileSync(join(root, "scripts/bootstrap.mjs"), join(clone, "scripts/bootstrap.mjs"));
  const dependencies = { nothing: "file:nothing" };
  writeFileSync(
    join(clone, "package.json"),
    JSON.stringify({ name: "clone", version: "1.0.0", dependencies }),
  );
  writeFileSync(join(clone, "nothing/package.json"), JSON.stringify({ name: "nothing", version: "1.0.0" }));
  const packages = {
    "": { name: "clone", version: "1.0.0", dependencies },
    nothing: { version: "1.0.0" },
    "node_modules/nothing": { resolved: "nothing", link: true },
  };
  const lock = { name: "clone", version: "1.0.0", lockfileVersion: 3, requires: true, packages };
  writeFileSync(join(clone, "package-lock.json"), JSON.stringify(lock));
});
afterEach(() => rmSync(clone, { recursive: true }));

async function bootstrap(): Promise<{ readonly code: number; readonly stderr: string }> {
  const child = spawn(process.execPath, [join(clone, "scripts/bootstrap.mjs")], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let stderr = "";
  child.stderr.on("data", (text) => {
    stderr += text;
  });
  const [code] = await once(child, "close");
  return { code, stderr };
}

describe("the first command in a fresh clone", () => {
  it("installs the dependencies once, also when five are started together", async () => {
    const all = await Promise.all(Array.from({ length: 5 }, bootstrap));
    expect(all.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0]);
    expect(all.filter(({ stderr }) => stderr !== "")).toHaveLength(1);
    expect(existsSync(join(clone, "node_modules/nothing/package.json"))).toBe(true);
    expect(existsSync(join(clone, ".installing"))).toBe(false);
  });

  it("installs them after an installation that was killed", async () => {
    const killed = spawn(process.execPath, ["-e", ""]);
    await once(killed, "exit");
    writeFileSync(join(clone, ".installing"), String(killed.pid));
    expect((await bootstrap()).code).toBe(0);
    expect(existsSync(join(clone, "node_modules/nothing/package.json"))).toBe(true);
  });
});
