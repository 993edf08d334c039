import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

it("casts each parameter of JSON and each time from text, since postgres.js would encode JSON once more, and cut times to ms", () => {
  const folder = join(import.meta.dirname, "../src");
  const texts = globSync("**/*.ts", { cwd: folder }).map((file) => readFileSync(join(folder, file), "utf8"));
  const casts = texts.join("").match(/\}(?:::text)?::(?:jsonb?|timestamptz)\b(?!\[)/g) ?? [];
  expect(casts.length).toBeGreaterThan(4);
  expect(new Set(casts)).toEqual(new Set(["}::text::jsonb", "}::text::timestamptz"]));
});
