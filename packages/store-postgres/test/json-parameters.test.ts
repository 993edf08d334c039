import { readdir, readFile } from "node:fs/promises";
import { expect, it } from "vitest";

it("casts each parameter of JSON from text, since postgres.js would encode a string once more for jsonb", async () => {
  const folder = new URL("../src/sql/", import.meta.url);
  const files = await readdir(folder);
  const texts = await Promise.all(files.map((file) => readFile(new URL(file, folder), "utf8")));
  const casts = texts.join("").match(/\}(?:::text)?::jsonb?\b(?!\[)/g) ?? [];
  expect(casts.length).toBeGreaterThan(3);
  expect(new Set(casts)).toEqual(new Set(["}::text::jsonb"]));
});
