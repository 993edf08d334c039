import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { packageVersion } from "@esim-webhooks/core/internal";
import { sqliteInbox, sqliteStore } from "@esim-webhooks/store-sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { entry, key } from "../../../test/inbox-entry.ts";
import { root } from "../../../test/run.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";
import { faultOf } from "../src/database/faults.ts";
import { networkTypeOf } from "../src/database/location.ts";
import { migrations } from "../src/database/migrations.ts";
import { folderOfEachTest } from "./temporary-folder.ts";

expectWarnings(
  "database_corrupt",
  "database_newer",
  "database_read_only",
  "invalid_option",
  "schema_mismatch",
);

const folder = folderOfEachTest();

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

async function refused(path: string): Promise<{ code: string; message: string }> {
  const store = sqliteStore({ path });
  const error = await store.ready().then(
    () => ({ code: "none", message: "" }),
    (reason) => reason,
  );
  await store.close();
  return error;
}

/**
 * How to run this package as a user who may not write everywhere, as root may. Another user may not even read this clone, if
 * it is in root's home folder, so Node.js and the sources are copied for him.
 */
function asUserWithoutRights(): { node: string; entry: string; user: { uid?: number; gid?: number } } {
  const entry = "packages/store-sqlite/src/index.ts";
  if (process.getuid?.() !== 0) return { node: process.execPath, entry: join(root, entry), user: {} };
  const copy = join(folder.path, "copy");
  for (const path of ["packages/core", "packages/store-sqlite", "node_modules/zod", "node_modules/leven"]) {
    cpSync(join(root, path), join(copy, path), { recursive: true });
  }
  mkdirSync(join(copy, "node_modules/@esim-webhooks"));
  symlinkSync("../../packages/core", join(copy, "node_modules/@esim-webhooks/core"));
  const node = join(copy, "node");
  copyFileSync(process.execPath, node);
  execFileSync("chmod", ["-R", "a+rX", copy]);
  return { node, entry: join(copy, entry), user: { uid: 65_534, gid: 65_534 } };
}

describe("the file", () => {
  it("is made with its folder, for the present user alone, and so are SQLite's own files next to it", async () => {
    const path = join(folder.path, "data", "deep", "events.db");
    const store = sqliteStore({ path });
    await store.claim(key("msg_1"), 1000);
    expect([modeOf(join(folder.path, "data")), modeOf(join(folder.path, "data", "deep"))]).toEqual([
      "700",
      "700",
    ]);
    const files = readdirSync(join(folder.path, "data", "deep"));
    expect(files).toContain("events.db");
    for (const file of files) expect(modeOf(join(folder.path, "data", "deep", file))).toBe("600");
    await store.close();
  });

  it.runIf(process.platform === "linux")(
    "is refused where no folder can be made, and does not hang",
    async () => {
      const { code, message } = await refused("/proc/esim-webhooks/events.db");
      expect(code).toBe("database_read_only");
      expect(message).toBe(
        "The folder of /proc/esim-webhooks/events.db cannot be made. Name a path at which this process can make files.",
      );
    },
  );

  it("may have tables of the user's, whose user_version and application_id stay as they are", async () => {
    const path = join(folder.path, "shop.db");
    const own = new DatabaseSync(path);
    own.exec("create table orders (id); pragma user_version = 7; pragma application_id = 42");
    const inbox = sqliteInbox({ path });
    await inbox.put([entry("msg_1")]);
    await inbox.close();
    expect(own.prepare("pragma user_version").get()).toEqual({ user_version: 7 });
    expect(own.prepare("pragma application_id").get()).toEqual({ application_id: 42 });
    const tables = own.prepare("select name from sqlite_schema where type = 'table'").all();
    for (const { name } of tables) expect(name).toMatch(/^(?:orders$|esim_webhooks_)/);
    own.close();
  });

  it("is refused with a code of its own where no database can be kept, and nothing of it is changed", async () => {
    const damaged = join(folder.path, "damaged.db");
    writeFileSync(damaged, "not a database at all, but long enough to be looked at".repeat(100));
    expect(await refused(damaged)).toMatchObject({
      code: "database_corrupt",
      message: expect.stringContaining(damaged),
    });
    expect(statSync(damaged).size).toBe(5400);
    expect(await refused(folder.path)).toMatchObject({
      code: "invalid_option",
      message: expect.stringContaining(join(folder.path, "events.db")),
    });
  });

  /** A file on which a newer version has run another migration. */
  async function newerFile(oldest: number): Promise<string> {
    const path = join(folder.path, "events.db");
    const store = sqliteStore({ path });
    await store.ready();
    await store.close();
    const own = new DatabaseSync(path);
    own
      .prepare(
        "insert into esim_webhooks_migration (number, id, applied_at, oldest, version) values (?, '', 0, ?, '7.0.0')",
      )
      .run(migrations.length + 1, oldest);
    own.close();
    return path;
  }

  it("is refused when a newer version has migrated it and this one cannot work with it, and says which can", async () => {
    expect(await refused(await newerFile(migrations.length + 1))).toMatchObject({
      code: "database_newer",
      message: expect.stringContaining(
        `They need a version that knows migration ${migrations.length + 1}, and version ${packageVersion} knows only ${migrations.length}. Run version 7.0.0 or a newer one`,
      ),
    });
  });

  it("is opened when a newer version has migrated it, if its migrations allow this one", async () => {
    const inbox = sqliteInbox({ path: await newerFile(migrations.length) });
    onTestFinished(() => inbox.close());
    expect(await inbox.put([entry("msg_1")])).toEqual(["stored"]);
  });

  it("is refused when a migration of its tables has another text", async () => {
    const path = join(folder.path, "events.db");
    const store = sqliteStore({ path });
    await store.ready();
    await store.close();
    const own = new DatabaseSync(path);
    own.exec("update esim_webhooks_migration set id = 'another'");
    own.close();
    expect(await refused(path)).toMatchObject({
      code: "schema_mismatch",
      message: expect.stringMatching(/migration 1 is "another", and this version's is "[0-9a-f]{16}"/),
    });
  });

  it("is refused as read-only where this user may not write, and opened once he may", async () => {
    const path = join(folder.path, "data", "events.db");
    mkdirSync(join(folder.path, "data"));
    chmodSync(join(folder.path, "data"), 0o555);
    chmodSync(folder.path, 0o755);
    const { node, entry, user } = asUserWithoutRights();
    const script = `
      import { sqliteStore } from ${JSON.stringify(entry)};
      const store = sqliteStore({ path: process.argv[1], timeoutMs: 120_000 });
      console.log(await store.ready().then(() => "ready", ({ code }) => code));
      await store.close();`;
    const args = ["--conditions=@esim-webhooks/source", "--input-type=module", "-e", script, path];
    const environment = { ...process.env };
    delete environment["NODE_COMPILE_CACHE"];
    const options = { ...user, cwd: folder.path, env: environment, encoding: "utf8" } as const;
    const run = () => execFileSync(node, args, options).trim();
    expect(run()).toBe("database_read_only");
    chmodSync(join(folder.path, "data"), 0o777);
    expect(run()).toBe("ready");
    chmodSync(join(folder.path, "data"), 0o700);
  });

  it("can be opened by the same store once what was in its way is gone", async () => {
    const path = join(folder.path, "events.db");
    mkdirSync(path);
    const store = sqliteStore({ path });
    await expect(store.ready()).rejects.toMatchObject({ code: "invalid_option" });
    folder.remove();
    expect((await store.claim(key("msg_1"), 1000)).status).toBe("claimed");
    await store.close();
  });
});

describe("faults", () => {
  const sqlite = (errcode: number) =>
    Object.assign(new Error("it says why"), { code: "ERR_SQLITE_ERROR", errcode });

  it.each([
    [sqlite(5), "store_unavailable"],
    [sqlite(6 | (1 << 8)), "store_unavailable"],
    [sqlite(8), "database_read_only"],
    [sqlite(8 | (4 << 8)), "database_moved"],
    [sqlite(10 | (3 << 8)), "store_unavailable"],
    [sqlite(10 | (19 << 8)), "store_full"],
    [sqlite(11), "database_corrupt"],
    [sqlite(13), "store_full"],
    [sqlite(14), "database_read_only"],
    [sqlite(26), "database_corrupt"],
    [Object.assign(new Error("EROFS"), { code: "EROFS" }), "database_read_only"],
    [Object.assign(new Error("ENOSPC"), { code: "ENOSPC" }), "store_full"],
    [new Error("anything else"), "store_unavailable"],
  ])("reports %o as %s, names the file, and keeps what SQLite said", (error, code) => {
    const fault = faultOf(error, "/data/events.db");
    expect(fault).toMatchObject({ code, cause: error.message });
    expect(fault.problem).toContain("/data/events.db");
  });

  it("knows network mounts by their number, also one that is negative as a signed one", () => {
    expect(networkTypeOf(0x6969)).toBe("NFS");
    expect(networkTypeOf(0xff534d42)).toBe("CIFS");
    expect(networkTypeOf(0xff534d42 | 0)).toBe("CIFS");
    expect(networkTypeOf(0xef53)).toBeUndefined(); // ext4
    expect(networkTypeOf(0x01021994)).toBeUndefined(); // tmpfs
  });

  it.each(["", ":memory:", "file:events.db"])("refuses the path %j, which is no file", (path) => {
    expect(() => sqliteStore({ path })).toThrow(expect.objectContaining({ code: "invalid_option" }));
  });
});
