import { expect, it } from "vitest";
import { readCorpus } from "../inputs/corpus.ts";
import { readers } from "../inputs/readers.ts";
import { failureOf } from "../inputs/search.ts";

const corpus = readCorpus();

it.each(readers)("every input that was kept is read as it should be: $name", async (reader) => {
  const inputs = corpus.get(reader.name) ?? [];
  expect(inputs.length).toBeGreaterThan(0);
  for (const input of inputs) {
    const failure = await failureOf(reader, input);
    expect(failure, JSON.stringify(input)).toBeUndefined();
  }
});

it("the corpus has no inputs of readers that are gone", () => {
  expect([...corpus.keys()].sort()).toEqual(readers.map(({ name }) => name).sort());
});
