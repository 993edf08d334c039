import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Input } from "./grammar.ts";

const file = join(import.meta.dirname, "corpus.jsonl");
const largestFile = 200_000;
const longestInput = 1500;

/** The inputs that were kept, by the name of their reader: they reached new blocks, or were not read as they should be. */
export function readCorpus(): Map<string, readonly Input[]> {
  const text = existsSync(file) ? readFileSync(file, "utf8") : "";
  const lines = text.split("\n").filter((line) => line !== "");
  return new Map(lines.map((line) => JSON.parse(line) as [string, Input[]]));
}

/** Writes the corpus, without inputs that are long. Throws if it would be too large for a repository. */
export function writeCorpus(corpus: ReadonlyMap<string, readonly Input[]>): void {
  const lines = [...corpus].map(([name, inputs]) => {
    const short = inputs.filter((input) => input.join("").length <= longestInput);
    return `${JSON.stringify([name, short])}\n`;
  });
  const text = lines.sort().join("");
  if (Buffer.byteLength(text) > largestFile)
    throw new Error(
      `The corpus would have ${Buffer.byteLength(text)} bytes. Keep fewer inputs of some reader.`,
    );
  writeFileSync(file, text);
}
