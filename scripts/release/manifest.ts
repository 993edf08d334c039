import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pageOf, pagesUrl } from "../../packages/core/src/base/pages.ts";

/** The account that owns the repository. This is the one line to change; then run `npm run docs`. */
export const owner = "your-organization";

/** `npm run release` refuses to publish while the owner is this placeholder. */
export const placeholderOwner = "your-organization";

const root = join(import.meta.dirname, "../..");
const repository = `https://github.com/${owner}/esim-webhooks`;

/** The URL of a page of the repository, such as `docs/runbook.md`, for files that are packed. */
export function pageUrl(path: string): string {
  return pageOf(path, pagesUrl ?? `${repository}/blob/main/`);
}

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
  readonly scripts?: Readonly<Record<string, string>>;
}

/** The package.json of each package by its folder, such as `packages/core`. */
export function readManifests(): ReadonlyMap<string, Manifest> {
  const folders = globSync("packages/*/package.json", { cwd: root }).map(dirname).sort();
  return new Map(
    folders.map((folder) => [folder, JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"))]),
  );
}

const sharedKeywords = ["esim", "webhook", "webhooks"];

/** The package.json with what a registry shows of a package: where its sources are, and how it is published. */
export function publishedManifest(manifest: Manifest, folder: string): Manifest {
  const { name, version, description, keywords = [], ...others } = manifest;
  const words = name.slice(name.indexOf("/") + 1).split("-");
  const shared = {
    keywords: [...new Set([...sharedKeywords, ...words, ...keywords])],
    homepage: `${repository}/tree/main/${folder}#readme`,
    bugs: `${repository}/issues`,
    repository: { type: "git", url: `git+${repository}.git`, directory: folder },
    publishConfig: { access: "public", provenance: true },
  };
  return { name, version, description, ...shared, ...others, ...shared }; // first for the order, then for the values
}
