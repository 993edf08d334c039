import { sql } from "kysely";
import { afterAll, beforeAll, expect, it } from "vitest";
import { numberArray, textArray } from "../src/sql/batch.ts";
import { createSchema, type TestSchema } from "./schema.ts";

let shop: TestSchema;
beforeAll(async () => {
  shop = await createSchema();
});
afterAll(() => shop.drop());

it("an array of texts arrives unchanged, with any characters in them", async () => {
  const texts = ["", "a", "null", "NULL", null, 'a"b', "a\\b", '\\"', "a,b", "{a}", " a ", "a\nb", "漢'字"];
  const { rows } = await sql<{
    texts: unknown;
  }>`select to_json(${textArray(texts)}::text[]) as texts`.execute(shop.db);
  expect(rows[0]?.texts).toEqual(texts);
});

it("a text that is not a number is refused as one, and adds no element", async () => {
  for (const text of ["", "1,2", "1}"]) {
    await expect(sql`select ${textArray([text])}::bigint[]`.execute(shop.db)).rejects.toThrow(
      "invalid input",
    );
  }
});

it("an array of numbers arrives as it is", async () => {
  const numbers = [0, 1.5, null, 1e21, -1];
  const { rows } = await sql<{ numbers: unknown }>`
    select to_json(${numberArray(numbers)}::float8[]) as numbers`.execute(shop.db);
  expect(rows[0]?.numbers).toEqual(numbers);
});
