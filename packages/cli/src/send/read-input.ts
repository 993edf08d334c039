import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { buffer } from "node:stream/consumers";
import type { CliContext } from "../program/context.ts";
import { programError } from "../program/program-error.ts";

/** The bytes of a file, or of standard input for `-`. Throws `unreadable_file`. */
export async function readInput({ process, output }: CliContext, file: string): Promise<Buffer> {
  if (file === "-") {
    if (process.stdin.isTTY) output.note("Reading from the terminal; end with Ctrl-D.");
    return buffer(process.stdin);
  }
  try {
    return await readFile(resolve(process.cwd(), file));
  } catch (cause) {
    throw programError(
      "unreadable_file",
      `${file} cannot be read.`,
      "Name a readable file, or - for standard input.",
      {
        cause,
      },
    );
  }
}
