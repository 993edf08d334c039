import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { makeFolder } from "../../src/base/make-folder.ts";

const root = mkdtempSync(join(tmpdir(), "esim-webhooks-folder-"));
afterAll(() => rmSync(root, { recursive: true }));

describe("makeFolder", () => {
  it("makes a folder and its parents for the present user alone, and resolves to the first that was missing", async () => {
    expect(await makeFolder(join(root, "a/b/c"))).toBe(join(root, "a"));
    for (const made of ["a", "a/b", "a/b/c"]) expect(statSync(join(root, made)).mode & 0o777).toBe(0o700);
    expect(await makeFolder(join(root, "a/b/c"))).toBeUndefined();
  });

  it("makes one folder for several callers at once", async () => {
    await Promise.all(Array.from({ length: 8 }, () => makeFolder(join(root, "d/e/f"))));
    expect(existsSync(join(root, "d/e/f"))).toBe(true);
  });

  it("rejects where a file is in the way", async () => {
    writeFileSync(join(root, "file"), "");
    await expect(makeFolder(join(root, "file"))).rejects.toMatchObject({ code: "EEXIST" });
    await expect(makeFolder(join(root, "file/g"))).rejects.toMatchObject({ code: "ENOTDIR" });
  });

  it.runIf(process.platform === "linux")("rejects where a file system takes no folders", async () => {
    await expect(makeFolder("/proc/esim-webhooks/data")).rejects.toMatchObject({ code: "ENOENT" });
  });
});
