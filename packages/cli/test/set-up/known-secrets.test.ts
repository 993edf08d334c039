import { newSecret } from "@esim-webhooks/core/testing";
import { expect, it } from "vitest";
import { knownSecrets, signingSecret } from "../../src/set-up/known-secrets.ts";

const [old, current] = [newSecret(), newSecret()];

it("loads a key source that returns a list, or an object with keys", async () => {
  expect(await knownSecrets({ load: async () => [current] })).toEqual([current]);
  expect(await knownSecrets({ load: async () => ({ keys: current }) })).toBe(current);
  expect(await knownSecrets(`${old} ${current}`)).toBe(`${old} ${current}`);
  expect(await knownSecrets(undefined)).toBeUndefined();
});

it("signs with the first key that is valid now", () => {
  expect(signingSecret(` ${old} ${current} `)).toBe(old);
  expect(signingSecret([{ secret: old, notAfter: "2020-01-01T00:00:00Z" }, { secret: current }])).toBe(
    current,
  );
  expect(signingSecret([current])).toBe(current);
});

it("signs with a secret of any form", () => {
  const bytes = Buffer.alloc(20, 7);
  expect(signingSecret(`hex:${bytes.toString("hex")} ${old}`)).toBe(`hex:${bytes.toString("hex")}`);
  expect(signingSecret(bytes)).toBe(bytes);
  expect(signingSecret([{ secret: bytes }, old])).toBe(bytes);
});

it("refuses a malformed secret", () => {
  expect(() => signingSecret("whsec_short")).toThrow(expect.objectContaining({ code: "invalid_secret" }));
  expect(() => signingSecret([])).toThrow(expect.objectContaining({ code: "missing_secret" }));
});
