import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Connection, connect, pragma } from "../src/database/connection.ts";
import { hasWalResetBug, refuseWal, setUpJournal } from "../src/database/journal.ts";
import { migrate, migrations } from "../src/database/migrations.ts";
import { openReader } from "../src/database/open.ts";
import { syncRecovered } from "../src/database/sync.ts";
import { inTransaction } from "../src/database/transaction.ts";
import { whyWithoutLog } from "../src/open-sqlite.ts";
import { folderOfEachTest } from "./temporary-folder.ts";

const fixed = "3.53.4";
const affected = "3.50.2"; // of Node.js 22.18
const synchronous = { normal: 1, full: 2, extra: 3 };

const folder = folderOfEachTest();
let path: string;
let connections: Connection[] = [];
beforeEach(() => {
  path = join(folder.path, "events.db");
});
afterEach(() => {
  for (const connection of connections) connection.close();
  connections = [];
});

function open(): Connection {
  const connection = connect(path, { busyMs: 50 });
  connections.push(connection);
  return connection;
}

function settingsOf(connection: Connection) {
  return { mode: pragma(connection, "journal_mode"), synchronous: pragma(connection, "synchronous") };
}

describe("how the file is written", () => {
  it.each([
    ["3.6.23", false],
    ["3.7.0", true],
    ["3.44.5", true],
    ["3.44.6", false],
    ["3.45.0", true],
    [affected, true],
    ["3.50.7", false],
    ["3.51.0", true],
    ["3.51.2", true],
    ["3.51.3", false],
    ["3.52.0", false],
    [fixed, false],
    ["4.0.0", false],
  ])("knows whether SQLite %s has the WAL-reset bug: %s", (version, isAffected) => {
    expect(hasWalResetBug(version)).toBe(isAffected);
  });

  it.each([
    [fixed, "full", { mode: "wal", synchronous: synchronous.full }],
    [fixed, "normal", { mode: "wal", synchronous: synchronous.normal }],
    [affected, "full", { mode: "delete", synchronous: synchronous.extra }],
    [affected, "normal", { mode: "delete", synchronous: synchronous.full }],
  ] as const)("is, by SQLite %s with durability %s, %o", (version, durability, expected) => {
    const connection = open();
    setUpJournal(connection, { path, durability }, version);
    expect(settingsOf(connection)).toEqual(expected);
  });

  it("goes from a log to none for an affected SQLite that is alone, and back for a fixed one", () => {
    const options = { path, durability: "full" } as const;
    for (const [version, mode] of [
      [fixed, "wal"],
      [affected, "delete"],
      [fixed, "wal"],
    ] as const) {
      const connection = open();
      connection.exec("create table if not exists own (n)");
      expect(setUpJournal(connection, options, version).mode).toBe(mode);
      connections.pop()?.close();
    }
  });

  it("is refused by an affected SQLite while another process has a log open, before it writes and later on", () => {
    const options = { path, durability: "full" } as const;
    const early = open();
    const journal = setUpJournal(early, options, affected);
    early.exec("create table own (n)");
    const other = open();
    expect(setUpJournal(other, options, fixed).mode).toBe("wal");
    other.exec("insert into own values (1)");
    expect(() => setUpJournal(open(), options, affected)).toThrow(/write-ahead log/);
    expect(() => inTransaction(early, (tx) => refuseWal(tx, path, journal))).toThrow(/write-ahead log/);
  });

  it("commits a change as it is opened without a log, which syncs that the journal of a killed process is gone", () => {
    const [connection, other] = [open(), open()];
    const journal = setUpJournal(connection, { path, durability: "full" }, affected);
    migrate(connection, path);
    const before = pragma(other, "data_version");
    syncRecovered(connection, journal);
    expect(pragma(other, "data_version")).not.toBe(before);
    const numbers = migrations.map((_, index) => ({ number: index + 1 }));
    expect(connection.all("select number from esim_webhooks_migration")).toEqual(numbers);
  });

  it("is rolled back by a reader, where a process was killed in the middle of a transaction", () => {
    const writer = open();
    writer.exec(
      "create table own (n, filling); insert into own values (1, ''); pragma cache_size = 1; begin",
    );
    for (let n = 2; n < 100; n++) writer.run("insert into own values (?, zeroblob(4000))", n);
    const killed = join(folder.path, "killed.db");
    copyFileSync(path, killed);
    copyFileSync(`${path}-journal`, `${killed}-journal`);
    const reader = openReader({ path: killed, durability: "full", busyMs: 50 });
    connections.push(reader);
    expect(reader.all("select n from own")).toEqual([{ n: 1 }]);
    expect(() => reader.run("delete from own")).toThrow(/readonly/);
  });

  it("is without a log where another process keeps it from being turned on, and says why", () => {
    const older = open();
    setUpJournal(older, { path, durability: "full" }, affected);
    older.exec("create table own (n); begin immediate; insert into own values (1)");
    const journal = setUpJournal(open(), { path, durability: "full" }, fixed);
    expect(journal.mode).toBe("delete");
    expect(whyWithoutLog(path, journal)).toEqual([
      "without_wal",
      expect.stringContaining(`Another process kept ${path} from`),
    ]);
    expect(whyWithoutLog(path, { ...journal, hasWalResetBug: true })[0]).toBe("wal_reset_bug");
  });
});
