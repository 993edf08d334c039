import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { root } from "./run.ts";

/**
 * The node_modules of a folder with a package.json of its own, for what is large and only some tests need. The first test
 * that asks for them installs them.
 */
export function installed(
  folder:
    | "bench"
    | "examples/platforms"
    | "site"
    | "test/frameworks"
    | "test/nest-11"
    | "test/nest-12"
    | "test/next"
    | "test/oldest-peers"
    | "test/pglite"
    | "test/publishing"
    | "test/runtimes"
    | "test/workerd",
): string {
  const bootstrap = join(root, "scripts/bootstrap.mjs");
  execFileSync(process.execPath, [bootstrap, folder], { stdio: ["ignore", "inherit", "inherit"] });
  return join(root, folder, "node_modules");
}
