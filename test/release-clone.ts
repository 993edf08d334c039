import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { basename, delimiter, dirname, join } from "node:path";
import { readManifests } from "../scripts/release/manifest.ts";
import { root } from "./run.ts";

export const manifests = [...readManifests().values()];
/** The names of the packages, without their scope. */
export const names: readonly string[] = manifests.map(({ name }) => basename(name));

/** Runs a command in a folder, with this Node.js or another one. Returns its output. */
export function runIn(
  cwd: string,
  command: string,
  args: readonly string[],
  node: string = process.execPath,
): string {
  const env = { ...process.env, PATH: dirname(node) + delimiter + process.env["PATH"] };
  return execFileSync(command, args, { cwd, env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

/** Makes a fresh clone, with the dependencies that bootstrapping would install. Nothing is built. */
export function makeClone(folder: string): void {
  const files = runIn(root, "git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
    .split("\0")
    .slice(0, -1);
  for (const file of files) cpSync(join(root, file), join(folder, file));
  const modules = join(folder, "node_modules");
  mkdirSync(join(modules, "@esim-webhooks"), { recursive: true });
  for (const name of readdirSync(join(root, "node_modules")))
    if (name !== "@esim-webhooks") symlinkSync(join(root, "node_modules", name), join(modules, name));
  for (const name of names) symlinkSync(`../../packages/${name}`, join(modules, "@esim-webhooks", name));
}

/** The output of a dry run of the release. */
export const release = (folder: string): string =>
  runIn(folder, "npm", ["run", "-s", "release", "--", "--dry-run"]);
