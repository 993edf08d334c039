import { execFileSync } from "node:child_process";
import promises, {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileKeySource } from "@esim-webhooks/core/key-file";
import { newSecret } from "@esim-webhooks/core/testing";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { loggerTo, loggerWith } from "../../../../test/support/loggers.ts";
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

  /** Replaces a function of node:fs/promises until the test ends, or until `restore`. */
  function replaced<Name extends "rename" | "chmod" | "chown" | "open" | "rmdir" | "stat">(
    name: Name,
    replacement: (typeof promises)[Name],
  ): { restore(): void } {
    const spy = vi.spyOn(promises, name).mockImplementation(replacement as never);
    syncBuiltinESMExports();
    const restore = () => {
      spy.mockRestore();
      syncBuiltinESMExports();
    };
    onTestFinished(restore);
    return { restore };
  }
  const systemError = (code: string) => Object.assign(new Error("of the system"), { code });

  it.each([undefined, ""])("refuses to be made without a path: %j", (none) => {
    expect(() => fileKeySource(none as never)).toThrow(
      expect.objectContaining({
        code: "invalid_option",
        message: expect.stringContaining("there is no path"),
        where: "fileKeySource",
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
    [`{ "keys": "${oldSecret}" }`, "It does not have the expected form."],
    [`["${oldSecret}"]`, "It does not have the expected form."],
    [
      `{ "secret": "${oldSecret}" }`,
      'There is no field "secret". There are: keys, rotatingUntil, environment, change.',
    ],
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
    const logger = loggerWith({ error: (_, message) => errors.push(message) });
    await fileKeySource(path, { logger }).load();
    expect(errors).toEqual([]);
    await chmod(path, 0o644);
    await fileKeySource(path, { logger }).load();
    expect(errors).toEqual([`Other users can read the key file ${path}. Run chmod 600 on it.`]);
  });

  it("names the file that is not there, and the folder in its place", async () => {
    await expect(fileKeySource(path).load()).rejects.toMatchObject({
      code: "missing_secret",
      message: expect.stringContaining(`The key file ${path} does not exist. Correct the path; or write`),
    });
    const lines: string[] = [];
    const logger = loggerTo((_, message) => lines.push(message));
    await chmod(folder, 0o755);
    await expect(fileKeySource(folder, { logger }).load()).rejects.toMatchObject({
      code: "missing_secret",
      message: `The key file ${folder} is a folder. Name a file in it.`,
    });
    expect(lines).toEqual([]);
  });

  it.skipIf(process.platform === "win32")(
    "refuses a pipe or a device, and does not wait for it",
    async () => {
      execFileSync("mkfifo", [path]);
      for (const unfit of [path, "/dev/zero"]) {
        const refused = {
          code: "missing_secret",
          message: `The key file ${unfit} is not a regular file. A pipe or a device cannot keep keys. Name a regular file, or a link to one.`,
        };
        await expect(fileKeySource(unfit).load()).rejects.toMatchObject(refused);
        await expect(fileKeySource(unfit).read()).rejects.toMatchObject(refused);
      }
    },
  );

  it("refuses a file of more than 1 MiB", async () => {
    await rewrite(`${oldSecret}${" ".repeat(1024 * 1024)}`);
    const refused = { code: "invalid_secret", message: expect.stringContaining("has more than 1 MiB") };
    await expect(fileKeySource(path).load()).rejects.toMatchObject(refused);
    await expect(fileKeySource(path).read()).rejects.toMatchObject(refused);
  });

  it("rejects when there is no file, and the receiver answers 503 until there is one", async () => {
    const { receive } = receiving(fileKeySource(path));
    expect(await receive(oldSecret)).toBe("keys_unavailable");
    await rewrite(oldSecret);
    expect(await receive(oldSecret)).toBe("processed");
  });

  it("rewrites a file of secrets separated by spaces as JSON, which receivers read on", async () => {
    await rewrite(`${oldSecret}  ${strangeSecret}\n`);
    const keys = fileKeySource(path);
    const stored = await keys.read();
    expect(stored?.record).toEqual({ keys: [oldSecret, strangeSecret] });
    const { receive } = receiving(fileKeySource(path));
    expect(await keys.write({ keys: [oldSecret, freshSecret] }, stored?.version)).toBe(true);
    expect(JSON.parse(await readFile(path, "utf8"))).toMatchObject({ keys: [oldSecret, freshSecret] });
    expect(await receive(freshSecret)).toBe("processed");
  });

  it("creates a file only where there is none, and leaves nothing else in its folder", async () => {
    const keys = fileKeySource(path);
    expect(await keys.write({ keys: [oldSecret] }, undefined)).toBe(true);
    expect(await keys.write({ keys: [freshSecret] }, undefined)).toBe(false);
    expect((await keys.read())?.record).toEqual({ keys: [oldSecret] });
    expect(await readdir(folder)).toEqual(["secret"]);
  });

  it("lets one of ten writers of the same version write, and all read its record", async () => {
    await rewrite(oldSecret);
    const keys = fileKeySource(path);
    const version = (await keys.read())?.version;
    const secrets = Array.from({ length: 10 }, newSecret);
    const written = await Promise.all(secrets.map((secret) => keys.write({ keys: [secret] }, version)));
    expect(written.filter(Boolean)).toHaveLength(1);
    expect((await keys.read())?.record).toEqual({ keys: [secrets[written.indexOf(true)]] });
    expect(await readdir(folder)).toEqual(["secret"]);
  });

  it("writes no record that no receiver could load", async () => {
    await rewrite(oldSecret);
    const keys = fileKeySource(path);
    const version = (await keys.read())?.version;
    await expect(keys.write({ keys: ["whsec_"] }, version)).rejects.toMatchObject({ code: "invalid_secret" });
    expect(await keys.read()).toEqual({ record: { keys: [oldSecret] }, version });
  });

  it("does not write over a file that somebody has rewritten since it was read", async () => {
    await rewrite(oldSecret);
    const keys = fileKeySource(path);
    const version = (await keys.read())?.version;
    await rewrite(`${oldSecret} ${strangeSecret}`);
    expect(await keys.write({ keys: [freshSecret] }, version)).toBe(false);
    expect((await keys.read())?.record.keys).toEqual([oldSecret, strangeSecret]);
  });

  it.skipIf(process.platform === "win32")(
    "creates the file for this user alone, keeps the mode of a file that is there, and follows a link to it",
    async () => {
      const modeOf = async () => ((await stat(path)).mode & 0o777).toString(8);
      const keys = fileKeySource(path);
      await keys.write({ keys: [oldSecret] }, undefined);
      expect(await modeOf()).toBe("600");
      await keys.write({ keys: [freshSecret] }, (await keys.read())?.version);
      expect(await modeOf()).toBe("600");
      await chmod(path, 0o640);
      await symlink(path, join(folder, "link"));
      const linked = fileKeySource(join(folder, "link"));
      expect(await linked.write({ keys: [oldSecret] }, (await linked.read())?.version)).toBe(true);
      expect(await modeOf()).toBe("640");
      expect((await lstat(join(folder, "link"))).isSymbolicLink()).toBe(true);
      expect((await keys.read())?.record).toEqual({ keys: [oldSecret] });
      expect(await readdir(folder)).toEqual(["link", "secret"]);
    },
  );

  it("finishes the write of a process that was killed before its last step, once for all readers and writers", async () => {
    await rewrite(oldSecret);
    const keys = fileKeySource(path);
    const version = (await keys.read())?.version;
    const claim = join(folder, `secret.next-${version}`);
    await mkdir(claim);
    await writeFile(join(claim, "id"), JSON.stringify({ keys: [freshSecret], version: "of the dead" }));
    expect(await keys.write({ keys: [strangeSecret] }, version)).toBe(false);
    const reads = await Promise.all(Array.from({ length: 10 }, () => keys.read()));
    for (const stored of reads)
      expect(stored).toEqual({ record: { keys: [freshSecret] }, version: reads[0]?.version });
    expect(await keys.write({ keys: [oldSecret] }, reads[0]?.version)).toBe(true);
    expect(await readdir(folder)).toEqual(["secret"]);
  });

  it("ignores a claim on a version that the file has no more", async () => {
    await rewrite(oldSecret);
    const keys = fileKeySource(path);
    const version = (await keys.read())?.version;
    await keys.write({ keys: [freshSecret] }, version);
    await mkdir(join(folder, `secret.next-${version}`));
    await writeFile(join(folder, `secret.next-${version}`, "id"), oldSecret);
    expect((await keys.read())?.record).toEqual({ keys: [freshSecret] });
    expect(await keys.write({ keys: [strangeSecret] }, version)).toBe(false);
  });

  it("leaves the write of a killed process undone when a backup of what it has read is put back", async () => {
    await rewrite(oldSecret);
    const written = await stat(path);
    const keys = fileKeySource(path);
    const claim = join(folder, `secret.next-${(await keys.read())?.version}`);
    await mkdir(claim);
    await writeFile(join(claim, "id"), freshSecret);
    await rewrite(strangeSecret);
    expect((await keys.read())?.record).toEqual({ keys: [strangeSecret] });
    await rewrite(oldSecret);
    await utimes(path, written.atime, written.mtime); // as a backup does
    expect((await keys.read())?.record).toEqual({ keys: [oldSecret] });
  });

  it("names a mounted file, which cannot be replaced, and leaves it readable and writable", async () => {
    await rewrite(oldSecret);
    const keys = fileKeySource(path);
    const version = (await keys.read())?.version;
    const { rename } = promises;
    const isMounted = replaced("rename", async (from, to) => {
      if (to === path) throw systemError("EBUSY");
      await rename(from, to);
    });
    await expect(keys.write({ keys: [freshSecret] }, version)).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringMatching(/EBUSY: the file is a mount of its own.*Mount its folder instead/),
    });
    expect(await keys.read()).toEqual({ record: { keys: [oldSecret] }, version });
    expect(await readdir(folder)).toEqual(["secret"]);
    isMounted.restore();
    expect(await keys.write({ keys: [freshSecret] }, version)).toBe(true);
  });

  it.each([
    ["EACCES", "store_unavailable", "this user must own the file"],
    ["ENOSPC", "store_full", "There is no room left for the key file"],
    ["EDQUOT", "store_full", "or raise the quota"],
  ])(
    "leaves the file as it was, and nothing next to it, when a step fails with %s: %s",
    async (errno, code, message) => {
      await rewrite(oldSecret);
      const keys = fileKeySource(path);
      const before = await keys.read();
      for (const step of ["chmod", "rename", "rmdir"] as const) {
        const fails = replaced(step, () => Promise.reject(systemError(errno)));
        const writes = keys.write({ keys: [freshSecret] }, before?.version);
        const refused = { code, message: expect.stringContaining(message), cause: { code: errno } };
        await expect(writes).rejects.toMatchObject(refused);
        fails.restore();
        if (step !== "rmdir") expect(await keys.read()).toEqual(before);
        expect(await readdir(folder)).toEqual(["secret"]);
      }
    },
  );

  it("undoes its write when the file changes just before it is claimed", async () => {
    await rewrite(oldSecret);
    const keys = fileKeySource(path);
    const { rename } = promises;
    replaced("rename", async (from, to) => {
      if (String(to).includes(".next-")) {
        await writeFile(`${path}.new`, strangeSecret, { mode: 0o600 });
        await rename(`${path}.new`, path);
      }
      await rename(from, to);
    });
    expect(await keys.write({ keys: [freshSecret] }, (await keys.read())?.version)).toBe(false);
    expect((await keys.read())?.record).toEqual({ keys: [strangeSecret] });
    expect(await readdir(folder)).toEqual(["secret"]);
  });

  it("has written, also if a reader does the last step first", async () => {
    await rewrite(oldSecret);
    const keys = fileKeySource(path);
    const { rename } = promises;
    let isFirst = true;
    replaced("rename", async (from, to) => {
      await rename(from, to);
      if (!String(to).includes(".next-") || !isFirst) return;
      isFirst = false;
      expect((await fileKeySource(path).read())?.record).toEqual({ keys: [freshSecret] });
    });
    expect(await keys.write({ keys: [freshSecret] }, (await keys.read())?.version)).toBe(true);
    expect((await keys.read())?.record).toEqual({ keys: [freshSecret] });
    expect(await readdir(folder)).toEqual(["secret"]);
  });

  it.each([
    ["user", { uid: 1, gid: 0 }],
    ["group", { uid: 0, gid: 1 }],
  ])("keeps the owner of a file of another %s", async (_, other) => {
    await rewrite(oldSecret);
    const keys = fileKeySource(path);
    const version = (await keys.read())?.version;
    const { uid, gid } = await stat(path);
    const chown = vi.fn(async () => {});
    replaced("chown", chown);
    expect(await keys.write({ keys: [freshSecret] }, version)).toBe(true);
    expect(chown).not.toHaveBeenCalled();
    const { stat: realStat } = promises;
    const asOther = async (draft: string) => {
      const found = await realStat(draft);
      return Object.assign(found, { uid: uid + other.uid, gid: gid + other.gid });
    };
    replaced("stat", asOther as never);
    expect(await keys.write({ keys: [oldSecret] }, (await keys.read())?.version)).toBe(true);
    expect(chown.mock.calls).toEqual([[expect.stringContaining(".draft-"), uid, gid]]);
  });

  it("says why a file cannot be loaded: it is not there, or this user may not read it", async () => {
    await rewrite(oldSecret);
    await expect(fileKeySource(join(path, "secret")).load()).rejects.toMatchObject({
      code: "missing_secret",
      message: expect.stringContaining("does not exist"),
    });
    replaced("open", () => Promise.reject(systemError("EACCES")));
    await expect(fileKeySource(path).load()).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("cannot be read (EACCES)"),
      cause: { code: "EACCES" },
    });
  });

  it("reads a secret with a brace in it as a word, not as JSON", async () => {
    const words = `utf8:${"{[a]}".repeat(6)}`;
    await rewrite(words);
    expect((await fileKeySource(path).read())?.record).toEqual({ keys: [words] });
  });

  it("removes what killed writers have left, once it is an hour old by the file system's clock, and nothing else", async () => {
    await rewrite(oldSecret);
    const id = "01234567-89ab-cdef-0123-456789abcdef";
    const left = [
      `secret.draft-${id}`,
      `secret.next-${"0".repeat(32)}`,
      "secret.draft-of-mine",
      `other.draft-${id}`,
    ];
    const now = (await stat(path)).mtimeMs / 1000;
    for (const name of [...left, `secret.draft-${id.replace("0", "1")}`]) {
      await mkdir(join(folder, name));
      const changedAt = left.includes(name) ? now - 3601 : now;
      await utimes(join(folder, name), changedAt, changedAt);
    }
    vi.useFakeTimers({ toFake: ["Date"], now: (now + 7200) * 1000 }); // this machine is ahead
    onTestFinished(() => void vi.useRealTimers());
    const keys = fileKeySource(path);
    await keys.write({ keys: [freshSecret] }, (await keys.read())?.version);
    expect(await readdir(folder)).toEqual(
      [...left.slice(2), `secret.draft-${id.replace("0", "1")}`, "secret"].sort(),
    );
  });

  it.each([
    ["a folder that is not there", "none/secret", "ENOENT"],
    ["a file in the place of its folder", "secret/secret", "ENOTDIR"],
  ])("says that a file cannot be replaced, and why: %s", async (_what, name, code) => {
    await rewrite(oldSecret);
    const keys = fileKeySource(join(folder, name));
    await expect(keys.write({ keys: [oldSecret] }, undefined)).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("cannot be read or replaced. Its folder does not exist. Create it"),
      cause: { code },
    });
  });

  it("says that it is a folder, if it is one", async () => {
    await expect(fileKeySource(folder).read()).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("It is a folder. Name a file in it."),
    });
  });
});
