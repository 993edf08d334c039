import fs, {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { sqliteBackup, sqliteInbox } from "@esim-webhooks/store-sqlite";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { entry } from "../../../test/inbox-entry.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";
import { openShop } from "./shop.ts";
import { folderOfEachTest } from "./temporary-folder.ts";

expectWarnings("database_corrupt", "invalid_option");

const folder = folderOfEachTest();
let path: string;
let file: string;
beforeEach(() => {
  path = join(folder.path, "events.db");
  file = join(folder.path, "backup.db");
});

function idsIn(database: string): Set<string> {
  const opened = new DatabaseSync(database, { readOnly: true });
  const rows = opened.prepare("select id from esim_webhooks_event").all();
  opened.close();
  return new Set(rows.map(({ id }) => String(id)));
}

const partials = () => readdirSync(folder.path).filter((name) => name.endsWith(".partial"));

const refusal = (backup: Promise<void>) =>
  backup.then(
    () => ({ code: "none" }),
    (error: unknown) => error,
  );

describe("a backup", () => {
  it.each([
    ["EIO", "store_unavailable"],
    ["ENOSPC", "store_full"],
  ])("whose sync fails with %s is an error with a code, and leaves no file", async (errno, code) => {
    const inbox = sqliteInbox({ path });
    await inbox.put([entry("a")]);
    vi.spyOn(fs, "fsync").mockImplementation((_, done) =>
      done(Object.assign(new Error(errno), { code: errno })),
    );
    syncBuiltinESMExports();
    onTestFinished(() => {
      vi.restoreAllMocks();
      syncBuiltinESMExports();
    });
    expect(await refusal(sqliteBackup({ path }, file))).toMatchObject({ name: "WebhookError", code });
    expect([existsSync(file), partials()]).toEqual([false, []]);
    await inbox.close();
  });

  it("has every event that was acknowledged before, while puts continue", async () => {
    const inbox = sqliteInbox({ path });
    const acknowledged: string[] = [];
    let isOver = false;
    const putting = Promise.all(
      Array.from({ length: 20 }, async (_, putter) => {
        for (let n = 0; !isOver; n++) {
          const id = `msg_${putter}_${n}`;
          await inbox.put([entry(id)]);
          acknowledged.push(id);
        }
      }),
    );
    await expect.poll(() => acknowledged.length).toBeGreaterThan(500);
    const before = [...acknowledged];
    await sqliteBackup({ path }, file);
    const during = acknowledged.length - before.length;
    await expect.poll(() => acknowledged.length).toBeGreaterThan(before.length + during);
    isOver = true;
    await putting;
    await inbox.close();
    const ids = idsIn(file);
    expect(before.filter((id) => !ids.has(id))).toEqual([]);
    const whole = new DatabaseSync(file);
    expect(whole.prepare("pragma integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
    whole.close();
  });

  it("is an inbox like the first one, with the user's own tables", async () => {
    const shop = openShop(path);
    shop.run("insert into orders (event) values ('msg_0')");
    const inbox = sqliteInbox({ path });
    await inbox.put([entry("msg_1")]);
    await sqliteBackup({ path }, file);
    const copy = sqliteInbox({ path: file });
    expect(await copy.put([entry("msg_1", { timestamp: "2026-11-20T10:00:00Z" })])).toEqual(["conflict"]);
    expect(await copy.take({ limit: 5, leaseMs: 1000 })).toMatchObject([{ id: "msg_1" }]);
    expect((await inbox.stats()).states.ready).toBe(1);
    const copiedShop = openShop(file);
    expect(copiedShop.orders()).toEqual(["msg_0"]);
    copiedShop.close();
    shop.close();
    await copy.close();
    await inbox.close();
  });

  it("can be read by its user alone, and leaves nothing beside it", async () => {
    openShop(path).close();
    await sqliteBackup({ path }, file);
    expect((statSync(file).mode & 0o777).toString(8)).toBe("600");
    expect(partials()).toEqual([]);
  });

  it("overwrites nothing, and leaves what is there as it is", async () => {
    openShop(path).close();
    writeFileSync(file, "mine");
    expect(await refusal(sqliteBackup({ path }, file))).toMatchObject({
      code: "invalid_option",
      message: `The file ${file} exists, and is not overwritten. Name another file, or remove this one.`,
    });
    expect(statSync(file).size).toBe(4);
  });

  it("is made once when two are made under one name at the same time, and the other one is refused", async () => {
    openShop(path).close();
    const made = await Promise.all([1, 2].map(() => refusal(sqliteBackup({ path }, file))));
    expect(made).toContainEqual(expect.objectContaining({ code: "none" }));
    expect(made).toContainEqual(expect.objectContaining({ code: "invalid_option" }));
    expect(partials()).toEqual([]);
  });

  it("follows no link that lies in its place, or where it is written first", async () => {
    openShop(path).close();
    const target = join(folder.path, "other");
    symlinkSync(target, file);
    symlinkSync(target, `${file}.partial`);
    expect(await refusal(sqliteBackup({ path }, file))).toMatchObject({ code: "invalid_option" });
    unlinkSync(file);
    await sqliteBackup({ path }, file);
    expect(existsSync(target)).toBe(false);
  });

  it("is refused where there is no folder, or a folder has its name", async () => {
    openShop(path).close();
    expect(await refusal(sqliteBackup({ path }, join(folder.path, "none", "backup.db")))).toMatchObject({
      code: "invalid_option",
      message: `There is no folder ${join(folder.path, "none")}. Make it, or name another file.`,
    });
    mkdirSync(join(folder.path, "folder"));
    expect(await refusal(sqliteBackup({ path }, join(folder.path, "folder")))).toMatchObject({
      code: "invalid_option",
    });
  });

  it("of a file that is not there is refused, and none is made", async () => {
    const missing = join(folder.path, "none", "events.db");
    expect(await refusal(sqliteBackup({ path: missing }, file))).toMatchObject({
      code: "invalid_option",
      message: `There is no file ${missing}. Check the path: only a database that is there can be copied.`,
    });
    expect(readdirSync(folder.path)).toEqual([]);
  });

  it("changes nothing in the file, not even where it has no tables of ours", async () => {
    const own = openShop(path);
    own.close();
    const before = readFileSync(path);
    await sqliteBackup({ path }, file);
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it("of a damaged file is refused, and none is left", async () => {
    writeFileSync(path, "not a database at all".repeat(300));
    expect(await refusal(sqliteBackup({ path }, file))).toMatchObject({
      code: "database_corrupt",
      message: expect.stringContaining(path),
    });
    expect([existsSync(file), partials()]).toEqual([false, []]);
  });
});
