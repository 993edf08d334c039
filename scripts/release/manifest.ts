import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pageUrl, repositoryUrl } from "../../packages/core/src/base/pages.ts";

const root = join(import.meta.dirname, "../..");

/** The alert rules, whose links lead to the pages of now. */
export function linkedRules(rules: string): string {
  return rules.replaceAll(/(?<=runbook_url: )\S*(?=#)/g, pageUrl("docs/runbook.md"));
}

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly private?: boolean;
  readonly keywords?: readonly string[];
  readonly exports: Readonly<Record<string, unknown>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

/** The package.json of each package by its folder, such as `packages/core`. */
export function readManifests(): ReadonlyMap<string, Manifest> {
  const folders = globSync("packages/*/package.json", { cwd: root }).map(dirname).sort();
  return new Map(
    folders.map((folder) => [folder, JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"))]),
  );
}

/** The packages of `wanted` and the packages that they need, by folder. A package comes after all that it needs. */
export function withNeeded(
  manifests: ReadonlyMap<string, Manifest>,
  wanted: Iterable<string> = manifests.keys(),
): Map<string, Manifest> {
  const ordered = new Map<string, Manifest>();
  const add = (folder: string): void => {
    const manifest = manifests.get(folder);
    if (manifest === undefined || ordered.has(folder)) return;
    for (const [other, { name }] of manifests) if (name in { ...manifest.dependencies }) add(other);
    ordered.set(folder, manifest);
  };
  for (const folder of wanted) add(folder);
  return ordered;
}

const sharedKeywords = ["esim", "webhook", "webhooks"];

/** The package.json with what a registry shows of a package: where its sources are, and how it is published. */
export function publishedManifest(manifest: Manifest, folder: string): Manifest {
  const { name, version, description, keywords = [], ...others } = manifest;
  const words = name.slice(name.indexOf("/") + 1).split("-");
  const shared = {
    keywords: [...new Set([...sharedKeywords, ...words, ...keywords])],
    homepage: `${repositoryUrl}/tree/main/${folder}#readme`,
    bugs: `${repositoryUrl}/issues`,
    repository: { type: "git", url: `git+${repositoryUrl}.git`, directory: folder },
    publishConfig: { access: "public", provenance: true },
  };
  return { name, version, description, ...shared, ...others, ...shared }; // first for the order, then for the values
}
