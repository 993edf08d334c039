import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { repositoryUrl } from "../packages/core/src/base/pages.ts";
import { publishedManifest, readManifests } from "../scripts/release/manifest.ts";
import { root } from "./run.ts";

const read = (file: string): string => readFileSync(join(root, file), "utf8");
const packages = [...readManifests()].map(([folder, manifest]) => ({ folder, ...manifest, manifest }));

/** The versions of a package that tests run with: those that it is developed with, and older ones. `express4` is an alias. */
function testedVersions(name: string, folder: string): unknown[] {
  return ["", folder, ...foldersInPlace()].flatMap((place) => {
    const { dependencies, devDependencies } = JSON.parse(read(join(place, "package.json")));
    return Object.entries<string>({ ...dependencies, ...devDependencies }).flatMap(([key, version]) => {
      const alias = `npm:${name}@`;
      if (version.startsWith(alias)) return [version.slice(alias.length)];
      return key === name ? [version] : [];
    });
  });
}

describe.each(packages)(
  "$name",
  ({ folder, name, manifest, version, dependencies = {}, peerDependencies = {} }) => {
    it("says where its sources are, how it is published, and what it is found by", () => {
      expect(manifest, "run npm run docs").toEqual(publishedManifest(manifest, folder));
      expect(manifest).toMatchObject({
        homepage: expect.stringContaining(repositoryUrl),
        bugs: expect.stringContaining(repositoryUrl),
        repository: { url: expect.stringContaining(repositoryUrl), directory: folder },
        publishConfig: { access: "public", provenance: true },
        license: "MIT",
        type: "module",
        engines: { node: ">=22.18" },
      });
      expect(manifest.description).toMatch(/^\S.{20,}\.$/);
      expect(manifest.keywords?.length).toBeGreaterThan(4);
    });

    it("has the licence, and a README of 60 lines at most that stands alone: what it is, how to install it, and how to use it", () => {
      expect(read(`${folder}/LICENSE`)).toBe(read("LICENSE"));
      const readme = read(`${folder}/README.md`);
      expect(readme.split("\n").length).toBeLessThanOrEqual(61);
      expect(readme).toMatch(new RegExp(`^# ${name}\n\n[A-Z\`]`));
      expect(readme).toMatch(new RegExp(`npm (?:i|install) (?:--save-dev )?.*${name}\\b`));
      expect(readme).toMatch(/^```(?:ts|sh)\n(?!npm)/m);
    });

    it("depends on what its sources import, and on the packages of its own version", () => {
      const listed = { ...dependencies, ...peerDependencies };
      const sources = globSync(`${folder}/src/**/*.ts`, { cwd: root }).map(read);
      const imported = sources.flatMap((source) =>
        [...source.matchAll(/^(?:import|export)\b[^;]*? from "((?:@[\w-]+\/)?[\w-]+)[^"]*";$/gm)].map(
          ([, it]) => it,
        ),
      );
      const missing = imported.filter((it) => it !== undefined && !it.startsWith("node") && !(it in listed));
      expect([...new Set(missing)]).toEqual([]);
      for (const [dependency, range] of Object.entries(listed))
        if (dependency.startsWith("@esim-webhooks/")) expect(range, dependency).toBe(version);
    });

    it("is tested with the lowest version of each major version of its peers", () => {
      for (const [peer, range] of Object.entries(peerDependencies)) {
        if (peer.startsWith("@esim-webhooks/")) continue; // of the same version
        for (const part of range.split(" || ")) {
          const lowest = part.replace(/^(?:\^|>=)/, "");
          expect(testedVersions(peer, folder), `${peer} ${part}`).toContain(lowest);
        }
      }
    });
  },
);

it("everything that is developed with is pinned: an installation of next year has the same versions", () => {
  const folders = globSync("{.,site,bench,lab/*,test/*,examples/*,packages/*}/package.json", { cwd: root });
  expect(folders.length).toBeGreaterThan(25);
  const ranges = folders.flatMap((file) => {
    const {
      private: isPrivate,
      dependencies,
      optionalDependencies,
      devDependencies,
    } = JSON.parse(read(file));
    const used = { ...devDependencies, ...(isPrivate && { ...dependencies, ...optionalDependencies }) };
    return Object.entries<string>(used)
      .filter(([, version]) => !/^(?:npm:(?:@[\w-]+\/)?[\w-]+@)?\d+\.\d+\.\d+$/.test(version))
      .map(([name, version]) => `${file}: ${name} ${version}`);
  });
  expect(ranges).toEqual([]);
});

/** The folders that tests put in place. */
function foldersInPlace(): readonly string[] {
  return globSync("{test,packages/*/test}/*.test.ts", { cwd: root }).flatMap((file) =>
    Array.from(
      readFileSync(join(root, file), "utf8").matchAll(/\b(?:putInPlace|testsWithNestOf)\("(.+?)"\)/g),
      ([, folder = ""]) => folder,
    ),
  );
}
