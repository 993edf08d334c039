// npm run lab -- inputs [part of the name of a reader] [--inputs N] [--seed S] [--keep]
import { parseArgs } from "node:util";
import { readCorpus, writeCorpus } from "./corpus.ts";
import { startCoverage } from "./coverage.ts";
import type { Input } from "./grammar.ts";
import { readers } from "./readers.ts";
import { createSearch, type Search } from "./search.ts";

/** Searches for inputs that the readers do not read as they should, and prints what was read. Returns whether there are none. */
export async function runInputs(...args: readonly string[]): Promise<boolean> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      inputs: { type: "string", default: "200000" },
      seed: { type: "string", default: "1" },
      keep: { type: "boolean", default: false },
    },
  });
  const wanted = readers.filter(({ name }) => name.includes(positionals[0] ?? ""));
  const shares = wanted.reduce((sum, { share }) => sum + share, 0);
  const inputs = Number(values.inputs);
  if (shares === 0 || !(inputs > 0)) {
    const names = readers.map(({ name }) => name.replace(/:.*/, "")).join(", ");
    console.error(`Name a part of one of these readers: ${names}; and a number of inputs above 0.`);
    return false;
  }
  const corpus = readCorpus();
  const searches: Search[] = [];
  const startedAt = performance.now();
  for (const reader of wanted) {
    const coverage = startCoverage();
    const search = createSearch(reader, Number(values.seed), corpus.get(reader.name) ?? [], coverage);
    const beganAt = performance.now();
    await search.run(Math.ceil((inputs * reader.share) / shares));
    print(search, (performance.now() - beganAt) / 1000, coverage.total());
    if (values.keep) writeCorpus(corpus.set(reader.name, await search.smallest()));
    coverage.close();
    searches.push(search);
  }
  const read = searches.reduce((sum, search) => sum + search.read, 0);
  const seconds = (performance.now() - startedAt) / 1000;
  console.log(
    `${read.toLocaleString("en")} inputs in ${seconds.toFixed(0)} s, ${Math.round(read / seconds).toLocaleString("en")} a second.`,
  );
  return searches.every(({ failures }) => failures.length === 0);
}

function print(
  { reader, read, kept, failures }: Search,
  seconds: number,
  { functions, unreached }: { readonly functions: number; readonly unreached: number },
): void {
  const rate = Math.round(read / seconds).toLocaleString("en");
  console.log(
    `  ${reader.name}: ${read.toLocaleString("en")} inputs, ${rate} a second; ${kept.length} reached something new in ${functions} functions, ${unreached} characters of which none reached`,
  );
  for (const { problem, input, error } of failures) {
    console.log(`    ✘ ${problem}\n      ${shown(input)}`);
    console.log(`      ${String((error.cause as Error | undefined)?.stack ?? error.stack).slice(0, 900)}`);
  }
}

function shown(input: Input): string {
  const text = JSON.stringify(input.map((part) => (part.length > 500 ? `${part.slice(0, 500)}…` : part)));
  return text.replace(/[\x7f-\uffff]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`);
}
