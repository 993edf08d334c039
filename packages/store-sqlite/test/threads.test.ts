import { readdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { entry } from "./entry.ts";
import { temporaryFolder } from "./temporary-folder.ts";

let folder: ReturnType<typeof temporaryFolder>;
let path: string;
beforeEach(() => {
  folder = temporaryFolder();
  path = join(folder.path, "events.db");
});
afterEach(() => folder.remove());

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
      const inbox = sqliteInbox({ path });
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
});
