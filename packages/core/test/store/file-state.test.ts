import { randomUUID } from "node:crypto";
import { chmod, mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StateStore } from "@esim-webhooks/core";
import { fileState } from "@esim-webhooks/core/state";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "file-state-"));
});
afterEach(() => rm(folder, { recursive: true }));

const files = () => readdir(folder, { recursive: true, withFileTypes: true });

async function write(state: StateStore, name: string, value: unknown): Promise<boolean> {
  return state.write(name, value, (await state.read(name))?.version);
}

describe("fileState", () => {
  it("keeps only the newest value of a name after many concurrent writes", async () => {
    const state = fileState(folder);
    for (let n = 0; n < 20; n++) {
      const version = (await state.read("rotation"))?.version;
      await Promise.all(Array.from({ length: 5 }, () => state.write("rotation", n, version)));
    }
    await write(state, "rotation", "last"); // removes the drafts of the writers that were too late
    const kept = await files();
    expect(kept.filter((entry) => entry.isFile())).toHaveLength(1);
    expect(kept.filter((entry) => entry.isDirectory())).toHaveLength(2);
    expect(kept[0]?.name).toMatch(/^rotation\./);
  });

  it("lets no other user read its files", async () => {
    const state = fileState(join(folder, "made"));
    await write(state, "a", 1);
    await write(state, "a", 2);
    for (const { parentPath, name } of await files()) {
      const entry = await stat(join(parentPath, name));
      expect((entry.mode & 0o777).toString(8)).toBe(entry.isFile() ? "600" : "700");
    }
  });

  it.skipIf(process.platform === "win32")("refuses a folder where every user can write", async () => {
    await chmod(folder, 0o1777);
    const state = fileState(folder);
    const operations = [() => state.ready(), () => state.read("a"), () => state.write("a", 1, undefined)];
    for (const operation of operations) {
      await expect(operation()).rejects.toMatchObject({
        code: "invalid_option",
        message: expect.stringMatching(/^Every user .* chmod 700/),
      });
    }
    expect(await files()).toEqual([]);
  });

  it("ignores the drafts of a process that was killed while writing", async () => {
    const state = fileState(folder);
    const id = randomUUID();
    await mkdir(join(folder, `.${id}`, `1-${id}`), { recursive: true }); // a first value, not yet renamed
    await write(state, "a", "old");
    const [place = ""] = (await readdir(folder)).filter((name) => name.startsWith("a."));
    const version = (await state.read("a"))?.version ?? "";
    await writeFile(join(folder, place, version, "draft"), '"ne'); // a next value, half-written
    expect(await fileState(folder).read("a")).toEqual({ value: "old", version });
    expect(await write(state, "a", "new")).toBe(true);
    expect(await state.read("a")).toMatchObject({ value: "new" });
    expect((await files()).some(({ name }) => name === "draft")).toBe(false);
  });

  it("removes the drafts of first values that are an hour old when it is made ready, and no others", async () => {
    const [old, young] = [`.${randomUUID()}`, `.${randomUUID()}`];
    const now = Date.now() / 1000;
    for (const name of [old, young, ".trash"]) {
      await mkdir(join(folder, name, "1-draft"), { recursive: true });
      const changedAt = name === young ? now : now - 3601;
      await utimes(join(folder, name), changedAt, changedAt);
    }
    const state = fileState(folder);
    await write(state, "a", 1);
    await state.ready();
    const kept = await readdir(folder);
    expect(kept.filter((name) => name.startsWith(".")).sort()).toEqual([young, ".trash"].sort());
    expect(await state.read("a")).toMatchObject({ value: 1 });
  });

  it("rejects with store_unavailable, the folder's path and the cause when it cannot write", async () => {
    const path = join(folder, "file");
    await writeFile(path, "");
    const state = fileState(path);
    for (const operation of [() => state.ready(), () => state.read("a"), () => write(state, "a", 1)]) {
      await expect(operation()).rejects.toMatchObject({
        code: "store_unavailable",
        message: expect.stringContaining(`cannot read or write in ${path}.`),
        cause: { code: "EEXIST" },
      });
    }
  });

  it("refuses to start without a folder", () => {
    for (const given of ["", undefined, {}]) {
      expect(() => fileState(given as string)).toThrow(/needs a folder\. Pass a path/);
    }
  });
});
