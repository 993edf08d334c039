import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it, onTestFinished } from "vitest";
import { execAddingColumns } from "../src/database/add-columns.ts";
import { connect, pragma } from "../src/database/connection.ts";
import * as first from "../src/database/migration-0001.ts";
import * as second from "../src/database/migration-0002.ts";
import { folderOfEachTest } from "./temporary-folder.ts";

const folder = folderOfEachTest();

it("adds the columns that SQLite would add, without a look at the rows, and other connections see them", () => {
  const path = join(folder.path, "events.db");
  const other = new DatabaseSync(path);
  onTestFinished(() => other.close());
  other.exec(first.text);
  other.exec(
    "insert into esim_webhooks_event (source, id, state, received_at) values ('default', 'msg_1', 'done', 1)",
  );
  const connection = connect(path, { busyMs: 1000 });
  onTestFinished(() => connection.close());
  connection.exec("begin immediate");
  execAddingColumns(connection, second.text);
  connection.exec("commit");

  const usual = new DatabaseSync(":memory:");
  usual.exec(first.text + second.text);
  const schema = "select type, name, sql from sqlite_schema where sql is not null order by name";
  expect(other.prepare(schema).all()).toEqual(usual.prepare(schema).all());
  other.exec("update esim_webhooks_event set subject = 'esim 1', taken_at = 2");
  expect(
    connection.all("select id, received_at, subject, taken_at, history from esim_webhooks_event"),
  ).toEqual([{ id: "msg_1", received_at: 1, subject: "esim 1", taken_at: 2, history: null }]);
  expect(pragma(connection, "integrity_check")).toBe("ok");
  expect(() => other.exec("update esim_webhooks_event set taken_at = 'x'")).toThrow(/cannot store TEXT/);
  expect(() => connection.exec("update sqlite_schema set sql = ''")).toThrow(/may not be modified/);
});

it("adds no column when its transaction is rolled back", () => {
  const connection = connect(join(folder.path, "events.db"), { busyMs: 1000 });
  onTestFinished(() => connection.close());
  connection.exec(`${first.text} begin immediate`);
  execAddingColumns(connection, second.text);
  connection.exec("rollback");
  expect(
    connection.all("select name from pragma_table_info('esim_webhooks_event') where name = 'subject'"),
  ).toEqual([]);
  connection.exec("begin immediate");
  execAddingColumns(connection, second.text);
  connection.exec("commit");
  expect(pragma(connection, "integrity_check")).toBe("ok");
});
