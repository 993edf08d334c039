import { chmod, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Logger } from "@esim-webhooks/core";
import { fileKeySource } from "@esim-webhooks/core/key-file";
import { newSecret } from "@esim-webhooks/core/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { receiving } from "./receiving.ts";

const [oldSecret, freshSecret, strangeSecret] = [newSecret(), newSecret(), newSecret()];

describe("fileKeySource", () => {
  let folder = "";
  let path = "";
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "esim-webhooks-keys-"));
    path = join(folder, "secret");
  });
  afterEach(() => rm(folder, { recursive: true }));

  async function rewrite(text: string): Promise<void> {
    await writeFile(`${path}.new`, text, { mode: 0o600 });
    await rename(`${path}.new`, path);
  }

  it.each([undefined, ""])("refuses to be made without a path: %j", (none) => {
    expect(() => fileKeySource(none as never)).toThrow(
      expect.objectContaining({
        code: "invalid_option",
        message: expect.stringContaining("there is no path"),
      }),
    );
  });

  it("reads secrets separated by spaces, and reads them again when the file was rewritten", async () => {
    await rewrite(`${oldSecret}\n`);
    const { receive } = receiving(fileKeySource(path));
    expect(await receive(oldSecret)).toBe("processed");
    await rewrite(`${oldSecret} ${freshSecret}\n`);
    expect(await receive(freshSecret)).toBe("processed");
    expect(await receive(oldSecret)).toBe("processed");
  });

  it("reads secrets with their forms, as words and in JSON", async () => {
    const hex = Buffer.alloc(20, 7).toString("hex");
    for (const text of [
      `hex:${hex} utf8:the-sender's-own`,
      JSON.stringify({ keys: [`hex:${hex}`, { secret: "utf8:the-sender's-own" }] }),
    ]) {
      await rewrite(text);
      const { receive } = receiving(fileKeySource(path));
      for (const secret of [`hex:${hex}`, "utf8:the-sender's-own"])
        expect(await receive(secret)).toBe("processed");
    }
  });

  it("reads JSON that an editor has put a byte order mark before", async () => {
    await rewrite(`\ufeff{ "keys": ["${oldSecret}"] }`);
    expect(await fileKeySource(path).load()).toMatchObject({ keys: [oldSecret] });
  });

  it("reads JSON with windows and the end of a rotation", async () => {
    const rotatingUntil = new Date(Date.now() + 60_000).toISOString();
    const window = { secret: oldSecret, notAfter: new Date(Date.now() + 60_000).toISOString() };
    await rewrite(JSON.stringify({ keys: [window, freshSecret], rotatingUntil }));
    const { receive } = receiving(fileKeySource(path));
    expect(await receive(oldSecret)).toBe("processed");
    expect(await receive(freshSecret)).toBe("processed");
    expect(await receive(strangeSecret)).toBe("rotating");
  });

  it.each([
    [`{ "keys": ["${oldSecret}"`, "It is not JSON."],
    [`{ "keys": "${oldSecret}" }`, "It is not of the expected form."],
    [`["${oldSecret}"]`, "It is not of the expected form."],
    [`{ "secret": "${oldSecret}" }`, 'There is no field "secret". There are: keys, rotatingUntil.'],
    [`{ "${oldSecret}": "" }`, "There is an unknown field."],
    [
      `{ "keys": [{ "secret": "${oldSecret}", "notafter": "2026" }] }`,
      'There is no field "notafter". Did you mean "notAfter"?',
    ],
    ['{ "keys": [] }', "There is no signing secret in it."],
    ["", "There is no signing secret in it."],
  ])(
    "names the file and the mistake, says what form it expects, and quotes no secret: %#",
    async (text, mistake) => {
      await rewrite(text);
      const error = await fileKeySource(path)
        .load()
        .catch((reason: unknown) => reason);
      expect(error).toMatchObject({
        code: "invalid_secret",
        message: expect.stringMatching(/Write \{ "keys".*"notAfter"/),
      });
      expect(String(error)).toContain(`The key file ${path}: ${mistake}`);
      expect(String(error) + String((error as Error).cause)).not.toContain(oldSecret.slice(6));
    },
  );

  it.each([
    [`"${oldSecret}"`, "A signing secret has quotes around it."],
    [`{ "keys": ["${oldSecret}"], "rotatingUntil": "soon" }`, "rotatingUntil is not a date-time. Give"],
    [
      `{ "keys": [{ "secret": "${oldSecret}", "notAfter": "soon" }] }`,
      "A key's notAfter is not a date-time.",
    ],
  ])("names the file in which a secret or a time cannot be right: %#", async (text, mistake) => {
    await rewrite(text);
    await expect(fileKeySource(path).load()).rejects.toThrow(`The key file ${path}: ${mistake}`);
  });

  it.skipIf(process.platform === "win32")("warns of a file that others can read", async () => {
    await rewrite(oldSecret);
    const errors: string[] = [];
    const nothing = () => {};
    const logger: Logger = {
      debug: nothing,
      info: nothing,
      warn: nothing,
      error: (_, message) => errors.push(message),
    };
    await fileKeySource(path, { logger }).load();
    expect(errors).toEqual([]);
    await chmod(path, 0o644);
    await fileKeySource(path, { logger }).load();
    expect(errors).toEqual([`Other users can read the key file ${path}. Run chmod 600 on it.`]);
  });

  it("rejects when there is no file, and the receiver answers 503 until there is one", async () => {
    const { receive } = receiving(fileKeySource(path));
    expect(await receive(oldSecret)).toBe("keys_unavailable");
    await rewrite(oldSecret);
    expect(await receive(oldSecret)).toBe("processed");
  });
});
