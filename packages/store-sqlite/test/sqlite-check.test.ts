import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sqliteCheck, sqliteInbox } from "@esim-webhooks/store-sqlite";
import { beforeEach, describe, expect, it } from "vitest";
import { entry } from "../../../test/inbox-entry.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";
import { folderOfEachTest } from "./temporary-folder.ts";

expectWarnings("invalid_option");

const folder = folderOfEachTest();
let path: string;
beforeEach(() => {
  path = join(folder.path, "events.db");
});

const pageBytes = 4096;
const timeoutMs = 60_000; // a busy machine is no fault of the file

async function filledInbox() {
  const inbox = sqliteInbox({ path, timeoutMs });
  await inbox.put(Array.from({ length: 200 }, (_, n) => entry(`msg_${n}`)));
  return inbox;
}

describe("a check of the file", () => {
  it("resolves for a good file, while an inbox has it open, and leaves it as it was", async () => {
    const inbox = await filledInbox();
    await sqliteCheck({ path, timeoutMs });
    expect(await inbox.put([entry("msg_new")])).toEqual(["stored"]);
    await inbox.close();
    const before = readFileSync(path);
    await sqliteCheck({ path, timeoutMs });
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it("finds a damaged page of a file that opens well", async () => {
    const inbox = await filledInbox();
    await inbox.close();
    const bytes = readFileSync(path);
    const page = bytes.length / pageBytes - 1; // the last but one: they are counted from 1
    writeFileSync(path, bytes.fill(0xff, (page - 1) * pageBytes, page * pageBytes));
    const opened = sqliteInbox({ path, timeoutMs });
    await opened.ready();
    await opened.close();
    const damage = new RegExp(
      `^The file ${path} is damaged: .* page ${page}: .* Keep a copy, and restore a backup`,
      "s",
    );
    await expect(sqliteCheck({ path, timeoutMs })).rejects.toMatchObject({
      code: "database_corrupt",
      message: expect.stringMatching(damage),
    });
  });

  it("refuses a path without a file, and creates none", async () => {
    await expect(sqliteCheck({ path, timeoutMs })).rejects.toMatchObject({
      code: "invalid_option",
      message: expect.stringContaining(path),
    });
    expect(existsSync(path)).toBe(false);
  });
});
