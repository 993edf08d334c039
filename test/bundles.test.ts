import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build, type Format } from "esbuild";
import { afterAll, expect, it } from "vitest";
import { root } from "./run.ts";

const folder = mkdtempSync(join(tmpdir(), "esim-webhooks-bundle-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** `pg` is CommonJS, and esbuild leaves its `require` of Node's modules as it is: our page on Postgres has this line. */
const banner = 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';

/** What the program prints when it runs as one file of esbuild, without the packages. */
async function outputOf(program: string, format: Format): Promise<string> {
  const outfile = join(folder, format === "esm" ? "server.mjs" : "server.cjs");
  await build({
    stdin: { contents: program, resolveDir: root },
    conditions: ["@esim-webhooks/source"],
    bundle: true,
    format,
    platform: "node",
    banner: { js: format === "esm" ? banner : "" },
    outfile,
    logLevel: "error",
  });
  return execFileSync(process.execPath, [outfile], { encoding: "utf8" });
}

it.each<Format>(["esm", "cjs"])(
  "sqliteStore in an esbuild bundle (%s) without the file of its thread says how to leave the package out",
  async (format) => {
    const program = `
import { sqliteStore } from "@esim-webhooks/store-sqlite";
try {
  sqliteStore({ path: ${JSON.stringify(join(folder, "events.db"))} });
} catch (error) {
  console.log(error.code, error.message);
}`;
    const output = await outputOf(program, format);
    expect(output).toMatch(/^thread_missing /);
    expect(output).toContain('serverExternalPackages: ["@esim-webhooks/store-sqlite"]');
    expect(output).toContain(
      'outputFileTracingIncludes: { "/*": ["./node_modules/@esim-webhooks/store-sqlite/',
    );
    expect(output).toContain("--external:@esim-webhooks/store-sqlite");
  },
);

it.each<Format>(["esm", "cjs"])(
  "postgresStore in an esbuild bundle (%s) has its migrations, and asks the server",
  async (format) => {
    const program = `
import { postgresMigrations, postgresStore } from "@esim-webhooks/store-postgres";
console.log(postgresMigrations().join(" "));
const store = postgresStore({ url: "postgres://user@127.0.0.1:1/events" });
void store.migrate().catch((error) => console.log(error.code, error.cause?.code)).finally(store.close);`;
    const output = await outputOf(program, format);
    expect(output).toContain('create table "esim_webhooks".event');
    expect(output).toMatch(/^store_unavailable ECONNREFUSED$/m);
  },
);
