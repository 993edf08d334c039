import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it, onTestFinished } from "vitest";
import { execAddingColumns } from "../src/database/add-columns.ts";
import { connect, pragma } from "../src/database/connection.ts";
import { statements } from "../src/database/schema.ts";
import { folderOfEachTest } from "./temporary-folder.ts";

const tables = `${statements.join(";\n")};`;
const additions = `
alter table esim_webhooks_event add column note text;
alter table esim_webhooks_event add column weight integer;
alter table esim_webhooks_worker add column note text;
create table esim_webhooks_label (name text primary key) strict;
`;

const folder = folderOfEachTest();

it("adds the columns that SQLite would add, without a look at the rows, and other connections see them", () => {
  const path = join(folder.path, "events.db");
  const other = new DatabaseSync(path);
  onTestFinished(() => other.close());
  other.exec(tables);
  other.exec(
    "insert into esim_webhooks_event (source, id, state, received_at) values ('default', 'msg_1', 'done', 1)",
  );
  const connection = connect(path, { busyMs: 1000 });
  onTestFinished(() => connection.close());
  connection.exec("begin immediate");
  execAddingColumns(connection, additions);
  connection.exec("commit");

  const usual = new DatabaseSync(":memory:");
  usual.exec(tables + additions);
  const schema = "select type, name, sql from sqlite_schema where sql is not null order by name";
  expect(other.prepare(schema).all()).toEqual(usual.prepare(schema).all());
  other.exec("update esim_webhooks_event set note = 'esim 1', weight = 2");
  expect(connection.all("select id, received_at, note, weight from esim_webhooks_event")).toEqual([
    { id: "msg_1", received_at: 1, note: "esim 1", weight: 2 },
  ]);
  expect(pragma(connection, "integrity_check")).toBe("ok");
  expect(() => other.exec("update esim_webhooks_event set weight = 'x'")).toThrow(/cannot store TEXT/);
  expect(() => connection.exec("update sqlite_schema set sql = ''")).toThrow(/may not be modified/);
});

it("adds no column when its transaction is rolled back", () => {
  const connection = connect(join(folder.path, "events.db"), { busyMs: 1000 });
  onTestFinished(() => connection.close());
  connection.exec(`${tables} begin immediate`);
  execAddingColumns(connection, additions);
  connection.exec("rollback");
  expect(
    connection.all("select name from pragma_table_info('esim_webhooks_event') where name = 'note'"),
  ).toEqual([]);
  connection.exec("begin immediate");
  execAddingColumns(connection, additions);
  connection.exec("commit");
  expect(pragma(connection, "integrity_check")).toBe("ok");
});
