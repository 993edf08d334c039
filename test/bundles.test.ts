import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build, type Format } from "esbuild";
import { afterAll, expect, it } from "vitest";
import { root } from "./run.ts";

const folder = mkdtempSync(join(tmpdir(), "esim-webhooks-bundle-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const program = `
import { sqliteStore } from "@esim-webhooks/store-sqlite";
try {
  sqliteStore({ path: ${JSON.stringify(join(folder, "events.db"))} });
} catch (error) {
  console.log(error.code, error.message);
}`;

it.each<Format>(["esm", "cjs"])(
  "sqliteStore in an esbuild bundle (%s) without the file of its thread says how to leave the package out",
  async (format) => {
    const outfile = join(folder, format === "esm" ? "server.mjs" : "server.cjs");
    await build({
      stdin: { contents: program, resolveDir: root },
      conditions: ["@esim-webhooks/source"],
      bundle: true,
      format,
      platform: "node",
      outfile,
      logLevel: "error",
    });
    const output = execFileSync(process.execPath, [outfile], { encoding: "utf8" });
    expect(output).toMatch(/^thread_missing /);
    expect(output).toContain('serverExternalPackages: ["@esim-webhooks/store-sqlite"]');
    expect(output).toContain("--external:@esim-webhooks/store-sqlite");
  },
);
