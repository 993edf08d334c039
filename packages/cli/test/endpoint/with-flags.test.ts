import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { WebhookError } from "@esim-webhooks/core";
import { expect, it } from "vitest";
import { withFlags } from "../../src/endpoint/with-flags.ts";

const src = join(import.meta.dirname, "../../../endpoint/src");
const text = ["base", "ensure", "rotate"]
  .flatMap((folder) => readdirSync(join(src, folder)).map((file) => join(src, folder, file)))
  .map((file) => readFileSync(file, "utf8"))
  .join("\n");

/** The options of registrations and rotations whose names are no words of English. */
const options = new Set(Array.from(text.matchAll(/readonly ([a-z]+[A-Z]\w*)\?:/g), ([, name = ""]) => name));
/** What the package says to a person, as it stands in the code. */
const sentences = Array.from(text.matchAll(/"([A-Z][^"\n]*\.)"|`([A-Z][^`\n]*\.)`/g), ([, plain, template]) =>
  (plain ?? template ?? "").replaceAll(/\$\{[^}]*\}/g, "…"),
);
const optionsIn = (said: string) => [...options].filter((option) => new RegExp(`\\b${option}\\b`).test(said));
/** Remedies of `invalid_option`, which is thrown to who calls a function. */
const ofCalls = ["Pass the handlers that the receiver has, or else a list of eventTypes."];
const naming = sentences.filter((said) => optionsIn(said).length > 0 && !ofCalls.includes(said));

it.each(naming)("has a flag for each option that this remedy names: %s", (remedy) => {
  const { message } = withFlags(new WebhookError<string>("any", "It could not be done.", remedy));
  expect(optionsIn(message)).toEqual([]);
  expect(message).toMatch(/--[a-z]/);
});

it("finds the remedies", () => {
  expect(naming).toEqual(expect.arrayContaining([expect.stringMatching(/^Run it again with secretForm/)]));
});
