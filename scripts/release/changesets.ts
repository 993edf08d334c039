import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import type { Surface } from "./surfaces.ts";

type Bump = "patch" | "minor" | "major";

/** A change that the next release has. */
export interface Changeset {
  /** The packages that change, such as `@esim-webhooks/core`. */
  readonly bumps: Readonly<Record<string, Bump>>;
  readonly text: string;
}

const root = join(import.meta.dirname, "../..");

/** The changesets that are in no release yet. */
export function readChangesets(): readonly Changeset[] {
  return globSync(".changeset/*.md", { cwd: root, exclude: ["**/README.md"] }).map((file) => {
    const [, head = "", text = ""] = readFileSync(join(root, file), "utf8").split(/^---$/m);
    return { bumps: parse(head) ?? {}, text };
  });
}

/**
 * The differences from the last release that no changeset announces. What is new needs a changeset for its package. What has
 * changed or is gone also needs its name in the text, and a release that may break: a major one, or before 1.0 a minor one.
 * Nothing was promised of a package that the last release did not have.
 */
export function unannounced(
  before: Surface,
  now: Surface,
  changesets: readonly Changeset[],
  version: string,
): readonly string[] {
  const earlier = new Set(Object.keys(before).map(packageOf));
  const breaking: readonly Bump[] = version.startsWith("0.") ? ["minor", "major"] : ["major"];
  const announces = (key: string, bumps: readonly Bump[], name: string) =>
    changesets.some(({ bumps: given, text }) => {
      const bump = given[`@esim-webhooks/${packageOf(key)}`];
      return bump !== undefined && bumps.includes(bump) && text.includes(name);
    });
  const advice = (name: string, bump: string) =>
    `Add a changeset for this package (npx changeset): ${bump} or more${name && `, whose text names \`${name}\``}.`;
  const differences: string[] = [];
  for (const key of new Set([...Object.keys(before), ...Object.keys(now)])) {
    const [was, is] = [before[key], now[key]];
    if (was === is || !earlier.has(packageOf(key))) continue;
    const [name = ""] = key.slice(key.indexOf(" ") + 1).split(" of ");
    if (was === undefined && !announces(key, ["patch", "minor", "major"], ""))
      differences.push(`${key} is new. ${advice("", "patch")}`);
    if (was !== undefined && !announces(key, breaking, name))
      differences.push(
        `${key} ${is === undefined ? "is gone" : `was ${was} and is ${is}`}. ${advice(name, breaking[0] ?? "")}`,
      );
  }
  return differences;
}

const packageOf = (key: string): string => key.slice(0, key.indexOf(":"));
