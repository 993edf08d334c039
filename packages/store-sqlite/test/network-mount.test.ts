import { existsSync } from "node:fs";
import fileSystem from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { entry } from "../../../test/inbox-entry.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";
import { folderOfEachTest } from "./temporary-folder.ts";

expectWarnings("network_mount");

const nfs = 0x6969;

const folder = folderOfEachTest();
let path: string;
beforeEach(() => {
  path = join(folder.path, "events.db");
  vi.spyOn(fileSystem, "statfs").mockResolvedValue({ type: nfs } as never);
  syncBuiltinESMExports(); // as what the package has imported by name
});
afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

describe.skipIf(process.platform !== "linux")("a file on a network mount", () => {
  it("is refused, and not made", async () => {
    const inbox = sqliteInbox({ path });
    await expect(inbox.put([entry("msg_1")])).rejects.toMatchObject({
      code: "network_mount",
      message: expect.stringContaining(`${folder.path} is on a network mount (NFS)`),
    });
    await inbox.close();
    expect(existsSync(path)).toBe(false);
  });

  it("is used where allowNetworkMount takes the risk", async () => {
    const inbox = sqliteInbox({ path, allowNetworkMount: true });
    expect(await inbox.put([entry("msg_1")])).toEqual(["stored"]);
    await inbox.close();
  });
});
