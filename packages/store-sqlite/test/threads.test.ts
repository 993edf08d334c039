import { readdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import { build } from "esbuild";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { entry } from "../../../test/inbox-entry.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";
import { openShop } from "./shop.ts";
import { folderOfEachTest } from "./temporary-folder.ts";

expectWarnings("database_corrupt");

const folder = folderOfEachTest();
let path: string;
beforeEach(() => {
  path = join(folder.path, "events.db");
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** How many descriptors this process has of a file: one for each connection. */
function connectionsTo(file: string): number {
  return readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === file;
    } catch {
      return false; // closed meanwhile
    }
  }).length;
}

describe("the thread that writes", () => {
  it.skipIf(process.platform !== "linux")(
    "is one, though the one before could not open the file and ends after it was started",
    async () => {
      const inbox = sqliteInbox({ path, timeoutMs: 120_000 });
      writeFileSync(path, "not a database at all".repeat(300));
      await expect(inbox.ready()).rejects.toMatchObject({ code: "database_corrupt" });
      rmSync(path);
      await inbox.ready();
      for (let n = 0; n < 20; n++) await inbox.put([entry(`msg_${n}`)]);
      expect(connectionsTo(path)).toBe(1);
      await inbox.close();
      expect(connectionsTo(path)).toBe(0);
    },
  );

  it("has the next thousand rows before it has answered for the last thousand; fewer gather", async () => {
    const inbox = sqliteInbox({ path, timeoutMs: 120_000 });
    await inbox.ready();
    const posting = vi.spyOn(Worker.prototype, "postMessage");
    const shop = openShop(path);
    shop.run("begin immediate"); // the thread waits for it
    const putting = [1000, 1000, 1, 1].map(async (count, part) => {
      for (let turn = 0; turn < 3 * part; turn++) await nextTurn();
      return inbox.put(Array.from({ length: count }, (_, n) => entry(`msg_${part}_${n}`)));
    });
    await expect.poll(() => posting.mock.calls.length).toBe(3); // the last put waits for the one before
    shop.run("commit");
    expect(new Set((await Promise.all(putting)).flat())).toEqual(new Set(["stored"]));
    expect(posting.mock.calls.length).toBe(4);
    shop.close();
    await inbox.close();
  });

  it("dies with puts under way: each of them rejects, the next one starts it again, and nothing is there twice", async () => {
    const inbox = sqliteInbox({ path, timeoutMs: 120_000 });
    await inbox.ready();
    const posting = vi.spyOn(Worker.prototype, "postMessage");
    const shop = openShop(path);
    shop.run("begin immediate"); // the thread waits for it
    const ids = Array.from({ length: 50 }, (_, n) => `msg_${n}`);
    const puts = Promise.allSettled(ids.map((id) => inbox.put([entry(id)])));
    await expect.poll(() => posting.mock.calls.length).toBe(1);
    const terminated = (posting.mock.contexts[0] as Worker | undefined)?.terminate();
    shop.run("commit");
    await terminated;
    for (const put of await puts) {
      expect(put).toMatchObject({
        status: "rejected",
        reason: {
          code: "store_unavailable",
          message: expect.stringContaining("The thread that has the database ended."),
        },
      });
    }
    expect(await Promise.all(ids.map((id) => inbox.put([entry(id)])))).toEqual(ids.map(() => ["stored"]));
    expect(await inbox.count()).toBe(50);
    shop.close();
    await inbox.close();
  });
});

it("runs code of this package alone in the thread, so that it works in a clone where nothing was built", async () => {
  const { metafile } = await build({
    entryPoints: [fileURLToPath(new URL("../src/thread/thread-entry.ts", import.meta.url))],
    bundle: true,
    packages: "external",
    platform: "node",
    format: "esm",
    write: false,
    metafile: true,
  });
  const imports = Object.values(metafile.inputs).flatMap((input) => input.imports);
  expect(imports.length).toBeGreaterThan(10);
  expect(imports.filter(({ path }) => path.startsWith("@esim-webhooks/"))).toEqual([]);
});
