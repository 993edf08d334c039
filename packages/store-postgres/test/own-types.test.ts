import { expect, it } from "vitest";
import { ownTyped } from "../src/database/own-types.ts";

it("the text of a query can be used as a string, and has no property for each of its characters: pg copies the properties for each query", () => {
  const text = ownTyped("select 1");
  expect(Object.getOwnPropertyNames(text).sort()).toEqual(["text", "types"]);
  expect([
    `${text}`,
    text.concat("!"),
    text.length,
    text.slice(0, 6),
    /1$/.test(text),
    JSON.stringify({ text }),
  ]).toEqual(["select 1", "select 1!", 8, "select", true, '{"text":"select 1"}']);
});
