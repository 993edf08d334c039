import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  createReadStream,
  existsSync,
  linkSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
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
});

describe("a checkpoint file", () => {
  it("is written first under a name that nobody can know, a new one each time", async () => {
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
