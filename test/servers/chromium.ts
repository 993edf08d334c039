import { spawnSync } from "node:child_process";
import { program } from "./binaries.ts";

/** The page's colours are made with `light-dark()`, which came with this version. */
const oldestVersion = 123;

/** The path of a Chromium without a window: that in CHROMIUM_PATH, else Debian's, which is installed like the servers. */
export function chromiumPath(): string {
  const named = process.env["CHROMIUM_PATH"];
  const path =
    named ||
    program("chromium-headless-shell", "chromium-headless-shell", ", or set CHROMIUM_PATH to a Chromium")
      .path;
  const { stdout, error } = spawnSync(path, ["--version"], { encoding: "utf8" });
  const version = Number(/\d+/.exec(stdout ?? "")?.[0]);
  if (version >= oldestVersion) return path;
  throw new Error(
    `The tests need Chromium ${oldestVersion} or newer, and ${path} is ${error ? "none" : `"${stdout.trim()}"`}. ` +
      "Install a newer one (Debian: apt-get update && apt-get install chromium-headless-shell), or set CHROMIUM_PATH to one.",
  );
}
