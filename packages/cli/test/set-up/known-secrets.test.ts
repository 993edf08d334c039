import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileKeySource } from "@esim-webhooks/core/key-file";
import { newSecret } from "@esim-webhooks/core/testing";
import { expect, it, onTestFinished, vi } from "vitest";
import { currentSigningSecret, knownSecrets, signingSecret } from "../../src/set-up/known-secrets.ts";

const [old, current] = [newSecret(), newSecret()];

it("loads a key source that returns a list, or an object with keys", async () => {
  expect(await knownSecrets({ load: async () => [current] })).toEqual([current]);
  expect(await knownSecrets({ load: async () => ({ keys: current }) })).toBe(current);
  expect(await knownSecrets(`${old} ${current}`)).toBe(`${old} ${current}`);
  expect(await knownSecrets(undefined)).toBeUndefined();
});

const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000);

it("signs with the last key that is valid now, which counts on when a rotation ends the one before it", () => {
  expect(signingSecret([{ secret: old, notAfter: inMinutes(2) }, { secret: current }])).toBe(current);
  expect(signingSecret(` ${old} ${current} `)).toBe(current);
  expect(signingSecret([current])).toBe(current);
});

it("signs with no key that has ended, or is still to come, while another one is valid", () => {
  const ended = { secret: newSecret(), notAfter: inMinutes(-1) };
  const coming = { secret: newSecret(), notBefore: inMinutes(1) };
  expect(signingSecret([ended, current, ended, coming])).toBe(current);
  expect(signingSecret([ended, coming])).toBe(coming.secret);
});

it("signs with a secret of any form", () => {
  const bytes = Buffer.alloc(20, 7);
  expect(signingSecret(`${old} hex:${bytes.toString("hex")}`)).toBe(`hex:${bytes.toString("hex")}`);
  expect(signingSecret(bytes)).toBe(bytes);
  expect(signingSecret([old, { secret: bytes }])).toBe(bytes);
});

it("signs with the new key once a key source has it, and with the last known one while the source fails", async () => {
  let load = async () => [old];
  const secret = await currentSigningSecret({ load: () => load() });
  expect(await secret()).toBe(old);
  load = async () => [old, current];
  expect(await secret()).toBe(current);
  load = async () => Promise.reject(new Error("away"));
  expect(await secret()).toBe(current);
  load = async () => ["whsec_short"];
  expect(await secret()).toBe(current);
});

it("waits 5 s for a key source that does not answer, as receivers do, and signs with the last known key then", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const never = new Promise<never>(() => {});
  const missing = expect(knownSecrets({ load: () => never })).rejects.toMatchObject({
    code: "store_unavailable",
    message: expect.stringMatching(
      /^The key source did not answer: its load\(\) took more than 5 s\. Check /,
    ),
  });
  await vi.advanceTimersByTimeAsync(5000);
  await missing;
  let load: () => Promise<string[]> = async () => [old];
  const secret = await currentSigningSecret({ load: () => load() });
  load = () => never;
  const signing = secret();
  await vi.advanceTimersByTimeAsync(5000);
  expect(await signing).toBe(old);
});

it("tells a key source that answers undefined from one that does not answer", async () => {
  const load = (async () => {}) as unknown as () => Promise<string[]>;
  await expect(knownSecrets({ load })).rejects.toMatchObject({
    code: "missing_secret",
    message:
      "The key source has no keys: its load() resolved to undefined. Let it return its secrets as a list, or an object such as { keys }.",
  });
});

it("refuses a malformed secret", () => {
  expect(() => signingSecret("whsec_short")).toThrow(expect.objectContaining({ code: "invalid_secret" }));
  expect(() => signingSecret([])).toThrow(expect.objectContaining({ code: "missing_secret" }));
});

it("names the key file that is not there, and what to do; and the one that cannot be read", async () => {
  await expect(knownSecrets(fileKeySource("no/such.key"))).rejects.toMatchObject({
    code: "missing_secret",
    message:
      "The key file no/such.key does not exist. Correct the path; or write the endpoint's signingSecret into it, with the mode 0600. esim-webhooks endpoint ensure <url> writes that of a new endpoint.",
  });
  const folder = mkdtempSync(join(tmpdir(), "key-file-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  await expect(knownSecrets(fileKeySource(folder))).rejects.toMatchObject({
    code: "missing_secret",
    message: `The key file ${folder} is a folder. Name a file in it.`,
  });
});
