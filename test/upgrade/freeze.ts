// Bundles the packages of an earlier commit into test/upgrade/previous, whose tests run them next to those of this version:
// `node test/upgrade/freeze.ts [commit]`. Run it again when a release makes another version the previous one.
import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";

const root = join(import.meta.dirname, "../..");
const frozen = join(import.meta.dirname, "previous");

/** The last commit whose stores had one migration each, and whose core went with them. */
const [commit = "e6faacd65ab2"] = process.argv.slice(2);

const packages = ["core", "store-postgres", "store-sqlite"];
const folder = mkdtempSync(join(tmpdir(), "esim-webhooks-freeze-"));
try {
  const archive = execFileSync("git", ["archive", commit, ...packages.map((name) => `packages/${name}`)], {
    cwd: root,
    maxBuffer: 2 ** 30,
  });
  execFileSync("tar", ["-x", "-C", folder], { input: archive });
  mkdirSync(join(folder, "node_modules/@esim-webhooks"), { recursive: true });
  for (const name of packages)
    symlinkSync(join(folder, "packages", name), join(folder, "node_modules/@esim-webhooks", name));
  const entry = join(folder, "index.ts");
  writeFileSync(
    entry,
    `export { createReceiver, createWorker } from "@esim-webhooks/core";
export { postgresInbox, postgresStore } from "@esim-webhooks/store-postgres";
export { sqliteInbox, sqliteStore } from "@esim-webhooks/store-sqlite";`,
  );
  rmSync(frozen, { recursive: true, force: true });
  await build({
    entryPoints: [entry, join(folder, "packages/store-sqlite/src/thread/database-thread.ts")],
    nodePaths: [join(root, "node_modules")],
    conditions: ["@esim-webhooks/source"],
    external: ["pg"],
    bundle: true,
    splitting: true,
    minify: true,
    keepNames: true, // errors are compared by their names
    format: "esm",
    platform: "node",
    target: "node22",
    entryNames: "[name]",
    outExtension: { ".js": ".mjs" },
    outdir: frozen,
    logLevel: "error",
  });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const bytes = readdirSync(frozen).map((file) => readFileSync(join(frozen, file)).byteLength);
console.log(
  `${commit}: ${bytes.length} files of ${Math.round(bytes.reduce((sum, size) => sum + size, 0) / 1000)} kB`,
);
