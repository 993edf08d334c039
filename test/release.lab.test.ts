import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { makeClone, names, release, runIn } from "./release-clone.ts";

const place = mkdtempSync(join(tmpdir(), "esim-webhooks-release-"));
afterAll(() => rmSync(place, { recursive: true, force: true }));

describe("a dry run of the release", () => {
  it("makes the same bytes in another clone", () => {
    const printed = ["clone", "another clone"].map((name) => {
      const folder = join(place, name);
      makeClone(folder);
      return release(folder);
    });
    expect(printed[1]).toBe(printed[0]);
  });

  it("is of the next version after npm run versions: everywhere, with nothing to announce, and no changeset left", () => {
    const next = join(place, "next");
    makeClone(next);
    const read = (file: string) => readFileSync(join(next, file), "utf8");
    const versions = ["node", "--conditions=@esim-webhooks/source", "scripts/release/versions.ts"];
    expect(() => runIn(next, "npx", versions)).toThrow("There is no changeset");
    writeFileSync(
      join(next, ".changeset/new.md"),
      '---\n"@esim-webhooks/core": minor\n---\n\nSomething is new.\n',
    );
    expect(runIn(next, "npx", versions)).toContain("This is version 0.2.0.");
    for (const name of names) {
      const { version, dependencies, peerDependencies } = JSON.parse(read(`packages/${name}/package.json`));
      expect(version, name).toBe("0.2.0");
      for (const [dependency, range] of Object.entries({ ...dependencies, ...peerDependencies }))
        if (dependency.startsWith("@esim-webhooks/")) expect(range, dependency).toBe("0.2.0");
    }
    expect(read("packages/core/src/base/version.ts")).toContain('"0.2.0"');
    expect(read("packages/store-sqlite/src/database/version.ts")).toContain('"0.2.0"');
    expect(JSON.parse(read("packages/core/events/asyncapi.json")).info.version).toBe("0.2.0");
    expect(read("packages/core/CHANGELOG.md")).toContain("Something is new.");
    expect(readdirSync(join(next, ".changeset"))).toEqual(["config.json"]);
  });
});
