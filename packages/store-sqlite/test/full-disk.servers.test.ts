import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type SqliteInbox, sqliteInbox } from "@esim-webhooks/store-sqlite";
import { expect, it } from "vitest";
import { entry } from "./entry.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** Mounts a disk of this size, or makes the one that is there so large. Returns why it cannot. */
function mount(folder: string, size: string, options = "size"): string | undefined {
  const args = ["-t", "tmpfs", "-o", `${options}=${size}`, "tmpfs", folder];
  const { status, stderr, error } = spawnSync("mount", args, { encoding: "utf8" });
  return status === 0 ? undefined : `a small disk cannot be mounted here: ${error?.message ?? stderr.trim()}`;
}

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

it("keeps every acknowledged event when its disk is full, says so, and goes on once there is room", async (context) => {
  const folder = temporaryFolder();
  context.onTestFinished(folder.remove);
  const refused = mount(folder.path, "4m");
  context.skip(refused !== undefined, refused);
  context.onTestFinished(() => void spawnSync("umount", ["-l", folder.path]));
  const path = join(folder.path, "events.db");

  let inbox = sqliteInbox({ path });
  const { stored, refusals } = await fill(inbox, "before", 10_000);
  expect(stored.length).toBeGreaterThan(10);
  for (const reason of refusals) expect(reason).toMatchObject({ code: "store_full" });
  expect(await idsIn(inbox)).toEqual(expect.arrayContaining(stored));
  await inbox.close();

  inbox = sqliteInbox({ path }); // and the disk is still full
  expect(await idsIn(inbox)).toEqual(expect.arrayContaining(stored));
  expect(mount(folder.path, "32m", "remount,size")).toBeUndefined();
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
