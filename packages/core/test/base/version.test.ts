import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { packageVersion } from "../../src/base/version.ts";

it("is the version in package.json", () => {
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  expect(packageVersion).toBe(version);
});
