import { existsSync } from "node:fs";
import { join } from "node:path";
import { installed } from "./installed.ts";

const packages = installed("test/runtimes");
const file = join(packages, "node-22-linux-x64/bin/node");
const isForThis = process.platform === "linux" && process.arch === "x64";

if (isForThis && !existsSync(file)) {
  throw new Error(
    `The tests need Node.js 22.18 as ${file}. Delete ${packages}, and run the tests again: they install it.`,
  );
}

/** The oldest Node.js that is supported, 22.18, with an SQLite that has the WAL-reset bug. Its package is for Linux on x64 alone. */
export const oldestNode: string = file;

/** Why a test that runs on it is skipped; undefined where it is there. */
export const withoutOldestNode: string | undefined = isForThis
  ? undefined
  : "Node.js 22.18 is installed for Linux on x64 alone";
