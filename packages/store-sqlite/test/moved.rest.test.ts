import { existsSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createReceiver } from "@esim-webhooks/core";
import { newSecret } from "@esim-webhooks/core/testing";
import {
  sqliteBackup,
  sqliteCheck,
  sqliteInbox,
  sqliteState,
  sqliteStore,
} from "@esim-webhooks/store-sqlite";
import { beforeEach, describe, expect, it } from "vitest";
import { entry, fixedTime, key } from "../../../test/inbox-entry.ts";
import { runNode } from "../../../test/run.ts";
import { loggerWith } from "../../../test/support/loggers.ts";
import { signedDelivery } from "../../../test/support/signed-delivery.ts";
import { hasWalResetBug } from "../src/database/journal.ts";
import { openShop } from "./shop.ts";
import { folderOfEachTest } from "./temporary-folder.ts";

const folder = folderOfEachTest();
let path: string;
beforeEach(() => {
  path = join(folder.path, "data", "events.db");
});

const hasLog = !hasWalResetBug(process.versions["sqlite"] ?? "");

function remove(...ends: readonly string[]): void {
  for (const end of ends) rmSync(`${path}${end}`);
}

async function replace(): Promise<void> {
  const other = `${path}.other`;
  await sqliteBackup({ path }, other);
  renameSync(other, path);
}

const putBack = /was removed or replaced .* Put it back\. Or stop every process .* with SIGTERM/;
const removeLog = /Another file is now at .* remove \S+-wal and \S+-shm, and start them again/;

const loneLog =
  /is missing or empty, but its log is there.* Put the file back\. If it is gone for good, .* remove \S+-wal/;

const tokenOf = (claim: object) => ("token" in claim ? String(claim.token) : "");

describe.skipIf(process.platform === "win32")("a file that is open", () => {
  it.each<[string, () => unknown, RegExp]>([
    ["its folder is removed", () => rmSync(join(folder.path, "data"), { recursive: true }), putBack],
    ["it is removed", () => remove(""), putBack],
    ["another file is renamed over it", replace, hasLog ? removeLog : putBack],
    ...(hasLog
      ? ([
          ["its log is removed", () => remove("-wal"), putBack],
          ["the index of its log is removed", () => remove("-shm"), putBack],
        ] as [string, () => unknown, RegExp][])
      : []),
  ])("refuses everything that would be acknowledged once %s", async (_, happens, message) => {
    const [inbox, store, state] = [sqliteInbox({ path }), sqliteStore({ path }), sqliteState({ path })];
    const claimed = tokenOf(await store.claim(key("msg_inline"), 60_000));
    await inbox.put([entry("msg_1"), entry("msg_2")]);
    openShop(path).close();
    const [taken, other] = await inbox.take({ limit: 2, leaseMs: 60_000 });
    await happens();
    const writing = async (tx: { write(statement: { sql: string }): void }) => {
      tx.write({ sql: "delete from orders" });
      return true;
    };
    const operations: (() => unknown)[] = [
      () => inbox.put([entry("msg_3")]),
      () => inbox.put([entry("msg_1")]), // a duplicate is acknowledged, too
      () => inbox.take({ limit: 1, leaseMs: 60_000 }),
      () => inbox.settle([{ ...key("msg_1"), token: tokenOf(taken ?? {}), state: "done" }]),
      () => inbox.transact(other as never, writing),
      () => store.claim(key("msg_4"), 60_000),
      () => store.transact(key("msg_inline"), claimed, writing),
      () => store.complete(key("msg_inline"), claimed),
      () => state.write("name", 1, undefined),
      ...[inbox, store, state].map(({ ready }) => ready),
    ];
    for (const operation of operations)
      await expect(operation()).rejects.toMatchObject({
        code: "database_moved",
        message: expect.stringMatching(message),
      });
    await Promise.all([inbox.close(), store.close(), state.close()]);
    if (hasLog && !existsSync(path) && existsSync(`${path}-wal`)) {
      await expect(sqliteInbox({ path }).ready()).rejects.toThrow(loneLog);
      remove("-wal", "-shm");
    }
    if (message === removeLog) remove("-wal", "-shm");
    const reopened = sqliteInbox({ path });
    expect(await reopened.put([entry("msg_5")])).toEqual(["stored"]);
    await reopened.close();
    await sqliteCheck({ path });
  });

  it.runIf(hasLog)("keeps what was acknowledged when its log is removed, once it is closed", async () => {
    let inbox = sqliteInbox({ path });
    await inbox.put([entry("msg_1")]);
    remove("-wal", "-shm");
    await expect(inbox.ready()).rejects.toMatchObject({ code: "database_moved" });
    await inbox.close();
    inbox = sqliteInbox({ path });
    expect(await inbox.get(key("msg_1"))).toMatchObject({ state: "ready" });
    await inbox.close();
  });

  it.runIf(hasLog)(
    "loses nothing when its log is removed and its process is killed once it has noticed",
    async () => {
      const stores = `
      import { rmSync } from "node:fs";
      import { sqliteInbox } from "@esim-webhooks/store-sqlite";
      const { FILE: path, ENTRY } = process.env;
      const inbox = sqliteInbox({ path });
      const entry = JSON.parse(ENTRY);
      await inbox.put([{ ...entry, receivedAt: new Date(entry.receivedAt), body: Buffer.from("{}") }]);
      for (const end of ["-wal", "-shm"]) rmSync(path + end);
      await inbox.ready().catch(({ code }) => console.log(code));
      process.kill(process.pid, "SIGKILL");
    `;
      const environment = { FILE: path, ENTRY: JSON.stringify(entry("msg_1")) };
      const { output } = await runNode(["--input-type=module", "--eval", stores], environment).ended;
      expect(output).toMatch(/^database_moved$/m);
      const inbox = sqliteInbox({ path });
      expect(await inbox.get(key("msg_1"))).toMatchObject({ state: "ready" });
      await inbox.close();
    },
  );

  it.runIf(hasLog)(
    "keeps what another program has committed to a new log, when its own was removed and it is closed",
    async () => {
      const inbox = sqliteInbox({ path });
      await inbox.put([entry("msg_1")]);
      remove("-wal", "-shm");
      await expect(inbox.ready()).rejects.toMatchObject({ code: "database_moved" });
      const commits = `
      import { DatabaseSync } from "node:sqlite";
      const database = new DatabaseSync(process.env.FILE);
      database.exec("create table note (n)");
      for (let n = 0; n < 300; n++) database.exec("insert into note values (" + n + ")");
      process.kill(process.pid, "SIGKILL");
    `;
      await runNode(["--input-type=module", "--eval", commits], { FILE: path }).ended;
      await inbox.close();
      const shop = openShop(path);
      expect(shop.all("select count(*) as notes from note")).toEqual([{ notes: 300 }]);
      shop.close();
      const reopened = sqliteInbox({ path });
      expect(await reopened.get(key("msg_1"))).toMatchObject({ state: "ready" });
      await reopened.close();
      await sqliteCheck({ path });
    },
  );

  it.runIf(hasLog).each(["-wal", "-shm"])(
    "loses nothing when its %s is removed and another process is started too early, which is refused",
    async (end) => {
      const inbox = sqliteInbox({ path });
      await inbox.put([entry("msg_1", fixedTime)]);
      remove(end);
      const opens = `
        import { sqliteCheck, sqliteInbox } from "@esim-webhooks/store-sqlite";
        const path = process.env.FILE;
        for (const open of [() => sqliteInbox({ path, timeoutMs: 60_000 }).ready(), () => sqliteCheck({ path, timeoutMs: 60_000 })])
          await open().then(() => console.log("opened"), ({ code }) => console.log("refused:", code));
        process.exit(); // as a process does that may not start
      `;
      const { output } = await runNode(["--input-type=module", "--eval", opens], { FILE: path }).ended;
      expect(output.match(/^(opened|refused: .*)$/gm)).toEqual([
        "refused: database_moved",
        "refused: database_moved",
      ]);
      expect(output).toMatch(/-shm file was removed\. Stop that process with SIGTERM/);
      await inbox.close();
      const reopened = sqliteInbox({ path });
      expect(await reopened.put([entry("msg_1", fixedTime), entry("msg_2")])).toEqual([
        "already_stored",
        "stored",
      ]);
      await reopened.close();
    },
  );

  it.runIf(hasLog).each([
    ["is missing", () => {}],
    ["is empty", () => writeFileSync(path, "")],
  ])(
    "loses nothing when another process is started while it %s: that one is refused, and makes no file",
    async (_, instead) => {
      const inbox = sqliteInbox({ path });
      await inbox.put([entry("msg_1")]);
      renameSync(path, `${path}.away`);
      instead();
      const before = existsSync(path);
      const opens = `
        import { sqliteCheck, sqliteInbox } from "@esim-webhooks/store-sqlite";
        const path = process.env.FILE;
        for (const open of [() => sqliteInbox({ path, timeoutMs: 60_000 }).ready(), () => sqliteCheck({ path, timeoutMs: 60_000 })])
          await open().then(() => console.log("opened"), ({ message }) => console.log("refused:", message));
      `;
      const { output } = await runNode(["--input-type=module", "--eval", opens], { FILE: path }).ended;
      expect(output.match(/^(opened|refused: .*)$/gm)).toEqual([
        expect.stringMatching(loneLog),
        expect.stringMatching(loneLog),
      ]);
      expect(existsSync(path)).toBe(before);
      renameSync(`${path}.away`, path);
      expect(await inbox.put([entry("msg_2")])).toEqual(["stored"]);
      await inbox.close();
      const reopened = sqliteInbox({ path });
      expect(await reopened.get(key("msg_1"))).toMatchObject({ state: "ready" });
      await reopened.close();
      await sqliteCheck({ path });
    },
  );

  it("stores again once it is back, and has written nothing meanwhile, where another process may write now", async () => {
    const inbox = sqliteInbox({ path });
    await inbox.put([entry("msg_1")]);
    const away = join(folder.path, "away");
    renameSync(join(folder.path, "data"), away);
    for (let n = 0; n < 20; n++)
      await expect(inbox.take({ limit: 1, leaseMs: 1, suspects: n > 0 })).rejects.toMatchObject({
        code: "database_moved",
      });
    renameSync(away, join(folder.path, "data"));
    await inbox.ready();
    expect(await inbox.put([entry("msg_2")])).toEqual(["stored"]);
    expect((await inbox.get(key("msg_1")))?.attempts).toBe(0);
    await inbox.close();
  });

  it("is the same one after all that SQLite and other processes may do to it", async () => {
    const inbox = sqliteInbox({ path });
    for (const work of [
      "pragma wal_checkpoint(truncate)",
      "vacuum",
      "pragma journal_size_limit = 0; pragma wal_checkpoint(restart)",
    ]) {
      await inbox.put([entry(`msg before ${work}`)]);
      const shop = openShop(path);
      shop.run(work);
      shop.close(); // the last connection that closes removes the log, and this is not the last
      await sqliteBackup({ path }, join(folder.path, `backup ${work}`));
      expect(await inbox.put([entry(`msg after ${work}`)])).toEqual(["stored"]);
    }
    await inbox.ready();
    await inbox.close();
  });

  it("answers 503 in a receiver when it is gone, and logs what to do", async () => {
    const secret = newSecret();
    const inbox = sqliteInbox({ path });
    await inbox.ready();
    const errors: Record<string, unknown>[] = [];
    const logger = loggerWith({ error: (fields) => void errors.push(fields) });
    const receiver = createReceiver(inbox, { secret, logger });
    rmSync(join(folder.path, "data"), { recursive: true });
    for (let n = 0; n < 20; n++) {
      const { headers, body } = signedDelivery(secret);
      const reply = await receiver.receive({ method: "POST", headers, body: Buffer.from(body) });
      expect(reply.status).toBe(503);
    }
    expect(errors[0]).toMatchObject({ outcome: "store_unavailable", err: { code: "database_moved" } });
    expect(errors.length).toBeLessThan(20);
    await receiver.close();
    await inbox.close();
  });
});
