import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { checkDataFolder, checkFileFolder } from "../../src/doctor/set-up-checks.ts";

const root = mkdtempSync(join(tmpdir(), "esim-webhooks-doctor-"));
afterAll(() => rmSync(root, { recursive: true }));

const at = (path: string) => ({ dataDir: path, path, user: process.geteuid?.() });

describe("the folder of embedded data", () => {
  it("is fine where it can be made, and is not made by the check", async () => {
    const folder = join(root, "deep", "data");
    expect(await checkDataFolder(at(folder), 0)).toMatchObject({ name: "folder", ok: true });
    expect(existsSync(join(root, "deep"))).toBe(false);
  });

  it("is reported when its disk has hardly any room left", async () => {
    expect(await checkDataFolder(at(root), Number.MAX_SAFE_INTEGER)).toEqual({
      name: "folder",
      ok: false,
      message: expect.stringMatching(
        /^The disk of \S+ has [\d.]+ \w+ left\. Free space on it, or name another folder with --data-dir\.$/,
      ),
    });
  });

  it("is reported for the file of a config, with what to change there", async () => {
    const file = join(root, "events.db");
    expect(await checkFileFolder(file, 0)).toMatchObject({
      ok: true,
      message: expect.stringContaining(`${root}; `),
    });
    const { message } = await checkFileFolder(file, Number.MAX_SAFE_INTEGER);
    expect(message).toMatch(/ left\. Free space on it, or name a file elsewhere in the config\.$/);
  });
});
