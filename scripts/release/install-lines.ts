import { join } from "node:path";
import type { Manifest } from "./manifest.ts";
import { tarballName } from "./tarballs.ts";

/**
 * The command that installs tarballs in `folder` with each package manager, by its name. A package asks for the version of another one
 * that is in no registry: npm finds the installed one, and the others need to be directed to its tarball.
 */
export function installLines(manifests: readonly Manifest[], folder: string): ReadonlyMap<string, string> {
  const file = (manifest: Manifest): string => join(folder, tarballName(manifest));
  const tarballs = manifests.map((manifest) => quoted(file(manifest)));
  const named = manifests.map((manifest) => quoted(`${manifest.name}@file:${file(manifest)}`));
  const asked = new Set(manifests.flatMap(({ dependencies }) => Object.keys({ ...dependencies })));
  const directed = manifests.filter(({ name }) => asked.has(name));
  const peers = new Set(manifests.flatMap(requiredPeers));
  const set = (command: string, field: string): string =>
    directed.length === 0
      ? ""
      : `${command} ${directed.map((it) => quoted(`${field}[${it.name}]=file:${file(it)}`)).join(" ")} && `;
  const overrides = Object.fromEntries(directed.map((it) => [it.name, `file:${file(it)}`]));
  const pnpm =
    directed.length === 0
      ? ""
      : `pnpm config set --location=project --json overrides ${quoted(JSON.stringify(overrides))} && `;
  return new Map([
    ["npm", ["npm install", ...tarballs, ...peers].join(" ")],
    ["pnpm", pnpm + ["pnpm add", ...tarballs, ...peers].join(" ")],
    ["yarn", set("npm pkg set", "resolutions") + ["yarn add", ...named, ...peers].join(" ")],
    ["bun", set("bun pm pkg set", "overrides") + ["bun add", ...tarballs, ...peers].join(" ")],
  ]);
}

function requiredPeers({ peerDependencies = {}, peerDependenciesMeta = {} }: Manifest): readonly string[] {
  return Object.keys(peerDependencies).filter((name) => peerDependenciesMeta[name]?.optional !== true);
}

/** As one word of a command to paste into a shell. */
function quoted(text: string): string {
  return /^[\w@:/.+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
