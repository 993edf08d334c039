import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { root } from "../run.ts";

const packages = ["core", "express", "fastify", "store-postgres", "store-sqlite"];

/** Bundles of the packages of one commit. */
export interface Frozen {
  readonly folder: string;
  readonly commit: string;
  remove(): void;
}

/**
 * Bundles the packages of another version, so that it runs next to this one.
 * @param commit default: the one that the environment variable `PREVIOUS` names, else the newest release, else the last commit
 */
export async function freezePrevious(
  commit: string = process.env["PREVIOUS"] ?? newestRelease() ?? "HEAD",
): Promise<Frozen> {
  const sources = mkdtempSync(join(tmpdir(), "esim-webhooks-freeze-"));
  const cache = join(root, "node_modules/.cache"); // where the bundle finds pg
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "previous-"));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    const archive = execFileSync("git", ["archive", commit, ...packages.map((name) => `packages/${name}`)], {
      cwd: root,
      maxBuffer: 2 ** 30,
    });
    execFileSync("tar", ["-x", "-C", sources], { input: archive });
    await bundle(sources, folder);
  } catch (error) {
    remove();
    throw error;
  } finally {
    rmSync(sources, { recursive: true, force: true });
  }
  return { folder, commit, remove };
}

function newestRelease(): string | undefined {
  const tags = execFileSync("git", ["tag", "--list", "v*", "--sort=-version:refname"], {
    cwd: root,
    encoding: "utf8",
  });
  return tags.split("\n").find((tag) => /^v\d+\.\d+\.\d+$/.test(tag));
}

async function bundle(sources: string, outdir: string): Promise<void> {
  mkdirSync(join(sources, "node_modules/@esim-webhooks"), { recursive: true });
  for (const name of packages)
    symlinkSync(join(sources, "packages", name), join(sources, "node_modules/@esim-webhooks", name));
  const entry = join(sources, "index.ts");
  writeFileSync(
    entry,
    `export { createKeyring, createReceiver, createWorker, esimCatalog, memoryStore, verify } from "@esim-webhooks/core";
export { webhookRouter } from "@esim-webhooks/express";
export { webhookPlugin } from "@esim-webhooks/fastify";
export { postgresInbox } from "@esim-webhooks/store-postgres";
export { sqliteInbox } from "@esim-webhooks/store-sqlite";`,
  );
  await build({
    entryPoints: [entry, join(sources, "packages/store-sqlite/src/thread/thread-entry.ts")],
    nodePaths: [join(root, "node_modules")],
    conditions: ["@esim-webhooks/source"],
    external: ["express", "fastify-plugin", "pg"],
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node22",
    entryNames: "[name]",
    outExtension: { ".js": ".mjs" },
    outdir,
    logLevel: "error",
  });
}
