import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  closeSync,
  createReadStream,
  existsSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type ImportOptions, importDeliveries } from "@esim-webhooks/import";
import { describe, expect, it } from "vitest";
import { checkpointFile } from "../src/checkpoint.ts";
import { delivery, folder, ndjson, watchedInbox } from "./dump.ts";

const nobody = 65_534;
const isRoot = process.geteuid?.() === 0;

/** A folder with a file that an import must not touch. */
function withVictim() {
  const at = folder();
  const victim = join(at, "victim");
  writeFileSync(victim, "mine", { mode: 0o644 });
  chmodSync(victim, 0o644);
  const untouched = () => [readFileSync(victim, "utf8"), statSync(victim).mode & 0o777];
  return { victim, untouched, path: join(at, "planted") };
}

const importing = (options: ImportOptions) =>
  importDeliveries(ndjson(delivery("a"), "bad line"), watchedInbox(), { trustUnsigned: true, ...options });

describe.skipIf(process.platform === "win32").each(["rejectsFile", "checkpointFile"] as const)(
  "a %s in a folder where others can write",
  (option) => {
    it.each([
      ["a symbolic link", symlinkSync],
      ["a hard link", linkSync],
    ])("is refused when it is %s, and the file it leads to stays as it is", async (kind, plant) => {
      const { victim, untouched, path } = withVictim();
      plant(victim, path);
      await expect(importing({ [option]: path })).rejects.toMatchObject({
        code: "foreign_file",
        message: expect.stringContaining(kind),
      });
      expect(untouched()).toEqual(["mine", 0o644]);
    });

    it.skipIf(!isRoot)("is refused when it belongs to another user, who could read it", async () => {
      const path = join(folder(), "planted");
      writeFileSync(path, "");
      chownSync(path, nobody, nobody);
      await expect(importing({ [option]: path })).rejects.toMatchObject({
        code: "foreign_file",
        message: expect.stringMatching(/belongs to another user.*Remove it/),
      });
      expect(readFileSync(path, "utf8")).toBe("");
    });
  },
);

describe.skipIf(process.platform === "win32")("a rejects file", () => {
  it("is not made where a link leads to nothing", async () => {
    const at = folder();
    symlinkSync(join(at, "new"), join(at, "rejects"));
    await expect(importing({ rejectsFile: join(at, "rejects") })).rejects.toThrow();
    expect(existsSync(join(at, "new"))).toBe(false);
  });

  it("may be a pipe by a link, as `>(…)` of a shell is", async () => {
    const at = folder();
    const [pipe, link] = [join(at, "pipe"), join(at, "link")];
    execFileSync("mkfifo", [pipe]);
    symlinkSync(pipe, link);
    const read = text(createReadStream(pipe));
    await importing({ rejectsFile: link });
    expect(await read).toContain("not_json");
  });

  it("may be a pipe that is full for a while", async () => {
    const pipe = join(folder(), "pipe");
    execFileSync("mkfifo", [pipe]);
    const read = text(createReadStream(pipe));
    const lines = Array.from({ length: 5000 }, (_, n) => `bad line ${n}`);
    await importDeliveries(ndjson(delivery("a"), ...lines), watchedInbox(), {
      trustUnsigned: true,
      rejectsFile: pipe,
    });
    expect((await read).trimEnd().split("\n")).toHaveLength(5000);
  });
});

describe.skipIf(!isRoot)("a rejects file of another user", () => {
  it("is refused when it is a pipe of another user without a reader, and not waited for", async () => {
    const path = join(folder(), "planted");
    execFileSync("mkfifo", [path]);
    chownSync(path, nobody, nobody);
    await expect(importing({ rejectsFile: path })).rejects.toMatchObject({
      code: "foreign_file",
      message: expect.stringContaining("belongs to another user"),
    });
  });

  it("is refused when it is such a pipe by a link", async () => {
    const at = folder();
    const [pipe, link] = [join(at, "pipe"), join(at, "link")];
    execFileSync("mkfifo", [pipe]);
    chownSync(pipe, nobody, nobody);
    symlinkSync(pipe, link);
    await expect(importing({ rejectsFile: link })).rejects.toMatchObject({ code: "foreign_file" });
  });
});

describe.runIf(process.platform === "linux")("a descriptor of this process as a rejects file", () => {
  it.each(["/dev/fd", "/proc/self/fd"])("continues where the descriptor is: %s", async (descriptors) => {
    const path = join(folder(), "redirected");
    const descriptor = openSync(path, "w");
    writeSync(descriptor, "before\n");
    await importing({ rejectsFile: `${descriptors}/${descriptor}` });
    writeSync(descriptor, "after\n");
    closeSync(descriptor);
    expect(readFileSync(path, "utf8")).toMatch(/^before\n.*not_json.*\nafter\n$/);
  });

  it("is refused when a link elsewhere leads to it, which may be of another user", async () => {
    const at = folder();
    const descriptor = openSync(join(at, "database"), "w");
    symlinkSync(`/proc/self/fd/${descriptor}`, join(at, "planted"));
    await expect(importing({ rejectsFile: join(at, "planted") })).rejects.toMatchObject({
      code: "foreign_file",
    });
    closeSync(descriptor);
    expect(readFileSync(join(at, "database"), "utf8")).toBe("");
  });

  it("is no checkpoint file, and nobody is told to remove what is in /dev", async () => {
    const descriptor = openSync(join(folder(), "redirected"), "w");
    await expect(importing({ checkpointFile: `/dev/fd/${descriptor}` })).rejects.toMatchObject({
      code: "foreign_file",
      message: expect.not.stringContaining("Remove"),
    });
    closeSync(descriptor);
  });
});

describe("a checkpoint file", () => {
  it("is written first under a name that cannot be guessed, a new one each time", async () => {
    const at = folder();
    const path = join(at, "checkpoint");
    const tally = {
      ledger: { read: 0, stored: 0, duplicate: 0, conflict: 0, invalid: 0, filtered: 0, rejected: 0 },
      forced: 0,
      types: {},
      span: null,
    };
    const checkpoint = { run: "run", tally, last: null, read: { bytes: 0, crc32: 0 }, rejectsBytes: 0 };
    const file = checkpointFile(path, "dump", "options");
    await file.save(checkpoint);
    const { owner } = JSON.parse(readFileSync(path, "utf8")) as { owner: string };
    const victim = join(at, "victim");
    writeFileSync(victim, "mine");
    symlinkSync(victim, `${path}.${owner}`); // the name that a save had before
    await file.save(checkpoint);
    expect(readFileSync(victim, "utf8")).toBe("mine");
    expect(readdirSync(at).sort()).toEqual(["checkpoint", `checkpoint.${owner}`, "victim"]);
  });
});
