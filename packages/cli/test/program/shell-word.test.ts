import { expect, it } from "vitest";
import { flagsOf, shellWord } from "../../src/program/shell.ts";

it("quotes what a shell would take apart", () => {
  expect(shellWord("https://shop.example/webhooks")).toBe("https://shop.example/webhooks");
  expect(shellWord("esim.*,it's")).toBe(`'esim.*,it'\\''s'`);
  expect(shellWord("")).toBe("''");
});

it("writes the flags that were given", () => {
  expect(flagsOf({ types: "esim.*", keyFile: "esim.key", dataDir: undefined })).toBe(
    " --types 'esim.*' --key-file esim.key",
  );
});
