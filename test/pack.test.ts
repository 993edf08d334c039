import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { installLines } from "../scripts/release/install-lines.ts";
import { readManifests, withNeeded } from "../scripts/release/manifest.ts";

const manifests = readManifests();
const needed = (...names: string[]) =>
  withNeeded(
    manifests,
    names.map((name) => `packages/${name}`),
  );

describe("npm run pack", () => {
  it("packs the named packages with those that they need, in the order in which they can be installed", () => {
    expect([...needed("express").keys()]).toEqual(["packages/core", "packages/express"]);
    expect([...needed("endpoint", "core").keys()]).toEqual([
      "packages/core",
      "packages/client",
      "packages/import",
      "packages/endpoint",
    ]);
  });

  it("prints for each package manager the command that installs them with their peers, and directs what they need to its tarball", () => {
    const [core, express] = ["core", "express"].map((name) => {
      const version = manifests.get(`packages/${name}`)?.version;
      return `/my packed/esim-webhooks-${name}-${version}.tgz`;
    });
    expect(Object.fromEntries(installLines([...needed("express").values()], "/my packed"))).toEqual({
      npm: `npm install '${core}' '${express}' express`,
      pnpm:
        `pnpm config set --location=project --json overrides '{"@esim-webhooks/core":"file:${core}"}' && ` +
        `pnpm add '${core}' '${express}' express`,
      yarn:
        `npm pkg set 'resolutions[@esim-webhooks/core]=file:${core}' && ` +
        `yarn add '@esim-webhooks/core@file:${core}' '@esim-webhooks/express@file:${express}' express`,
      bun: `bun pm pkg set 'overrides[@esim-webhooks/core]=file:${core}' && bun add '${core}' '${express}' express`,
    });
  });

  it("prints commands that a shell reads as they are meant, also with an apostrophe in the path", () => {
    const lines = installLines([...needed("express").values()], "/Ann's packed");
    for (const line of lines.values()) {
      const words = execFileSync("sh", [
        "-c",
        `for word in ${line.replaceAll("&&", "")}; do echo "$word"; done`,
      ]);
      expect(String(words).match(/Ann's packed\/esim-webhooks-(?:core|express)-/g)?.length).toBeGreaterThan(
        1,
      );
    }
  });

  it("prints no optional peer, and directs nothing that no other package needs", () => {
    const lines = installLines([...needed("core").values()], "/packed");
    for (const line of lines.values()) expect(line).toMatch(/^\w+ (?:add|install) \S+$/);
    expect(installLines([...needed("lambda").values()], "/packed").get("npm")).not.toContain("aws-sdk");
  });
});
