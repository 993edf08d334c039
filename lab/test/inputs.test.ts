import { expect, it } from "vitest";
import { readCorpus } from "../inputs/corpus.ts";
import { readers } from "../inputs/readers.ts";
import { failureOf, generated } from "../inputs/search.ts";

const corpus = readCorpus();

it.each(readers)(
  "reads every input that was kept, and the first ones of a seed, as the docs say: $name",
  async (reader) => {
    const kept = corpus.get(reader.name) ?? [];
    expect(kept.length).toBeGreaterThan(0);
    for (const input of [...kept, ...generated(reader, 1, reader.share * 20)])
      expect(await failureOf(reader, input), JSON.stringify(input).slice(0, 500)).toBeUndefined();
  },
);

it("the corpus has inputs of every reader, and of no other", () => {
  expect([...corpus.keys()].sort()).toEqual(readers.map(({ name }) => name).sort());
});
