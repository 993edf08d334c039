// npm run versions: makes the next version of the changesets. Commit what it changes, and tag that commit.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { readChangesets } from "./changesets.ts";
import { readManifests } from "./manifest.ts";
import { keepSurfaces } from "./surfaces.ts";

const root = join(import.meta.dirname, "../..");

if (readChangesets().length === 0) {
  console.error(
    "There is no changeset, so there is nothing to release. Add one for each change: npx changeset",
  );
  process.exit(1);
}
run("changeset", "version");
const version = readManifests().get("packages/core")?.version ?? "";
for (const file of ["packages/core/src/base/version.ts", "packages/store-sqlite/src/database/version.ts"]) {
  const path = join(root, file);
  writeFileSync(path, readFileSync(path, "utf8").replace(/(packageVersion = )".*"/, `$1"${version}"`));
}
keepSurfaces();
run("npm", "run", "docs");
run("npm", "install", "--package-lock-only", "--no-audit", "--no-fund");
console.log(
  `This is version ${version}. Add it to CHANGELOG.md, commit, and tag the commit: git tag v${version}`,
);

function run(command: string, ...args: string[]): void {
  execFileSync(command, args, { cwd: root, stdio: "inherit" });
}
