import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type SqliteInbox, sqliteInbox } from "@esim-webhooks/store-sqlite";
import { expect, it } from "vitest";
import { entry } from "../../../test/inbox-entry.ts";
import { mountDisk, unmountDisk } from "../../../test/small-disk.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const body = new Uint8Array(20_000);

/** Puts ten events at a time until one of them is refused, or `most` are stored. Returns the ids and the refusals. */
async function fill(inbox: SqliteInbox, name: string, most: number) {
  const stored: string[] = [];
  const refusals: unknown[] = [];
  while (refusals.length === 0 && stored.length < most) {
    const ids = Array.from({ length: 10 }, (_, n) => `${name}_${stored.length + n}`);
    const puts = await Promise.allSettled(ids.map((id) => inbox.put([{ ...entry(id), body }])));
    for (const [index, put] of puts.entries()) {
      if (put.status === "fulfilled") stored.push(ids[index] ?? "");
      else refusals.push(put.reason);
    }
  }
  return { stored, refusals };
}

async function idsIn(inbox: SqliteInbox): Promise<string[]> {
  const { rows } = await inbox.list({}, { limit: 10_000 });
  return rows.map(({ id }) => id);
}

it("keeps every acknowledged event when its disk is full, says so, and continues once there is room", async (context) => {
  const folder = temporaryFolder();
  context.onTestFinished(folder.remove);
  const refused = mountDisk(folder.path, "4m");
  context.skip(refused !== undefined, refused);
  context.onTestFinished(() => unmountDisk(folder.path));
  const path = join(folder.path, "events.db");

  let inbox = sqliteInbox({ path });
  const { stored, refusals } = await fill(inbox, "before", 10_000);
  expect(stored.length).toBeGreaterThan(10);
  for (const reason of refusals) expect(reason).toMatchObject({ code: "store_full" });
  expect(await idsIn(inbox)).toEqual(expect.arrayContaining(stored));
  await inbox.close();

  inbox = sqliteInbox({ path }); // and the disk is still full
  expect(await idsIn(inbox)).toEqual(expect.arrayContaining(stored));
  expect(mountDisk(folder.path, "32m", "remount,size")).toBeUndefined();
  const more = await fill(inbox, "after", 100);
  expect(more).toMatchObject({ stored: { length: 100 }, refusals: [] });
  const taken = await inbox.take({ limit: 1000, leaseMs: 60_000 });
  const acknowledged = [...stored, ...more.stored];
  expect(taken.map(({ id }) => id)).toEqual(expect.arrayContaining(acknowledged));
  await inbox.close();

  const database = new DatabaseSync(path);
  expect(database.prepare("pragma integrity_check").get()).toEqual({ integrity_check: "ok" });
  database.close();
});

it("is not ready while its disk is so full that nothing can be stored", async (context) => {
  const folder = temporaryFolder();
  context.onTestFinished(folder.remove);
  const refused = mountDisk(folder.path, "4m");
  context.skip(refused !== undefined, refused);
  context.onTestFinished(() => unmountDisk(folder.path));
  const inbox = sqliteInbox({ path: join(folder.path, "events.db") });
  await inbox.ready();
  expect(() => writeFileSync(join(folder.path, "other"), new Uint8Array(4 * 1024 * 1024))).toThrow(/ENOSPC/);
  const untilFull = async () => {
    for (let n = 0; n < 100; n++) await inbox.ready(); // the log has some room left
  };
  await expect(untilFull()).rejects.toMatchObject({ code: "store_full" });
  expect(mountDisk(folder.path, "32m", "remount,size")).toBeUndefined();
  await inbox.ready();
  await inbox.close();
});
