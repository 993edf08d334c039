import { expect, test } from "vitest";
import { openDatabase } from "../../src/base/database.ts";

test("an error after which SQLite has rolled back by itself is the one that is thrown", () => {
  const db = openDatabase();
  const insert = "insert or rollback into clock (rowid, now) values (1, 0)";
  const twice = () => {
    db.run(insert);
    db.run(insert);
  };
  expect(() => db.transaction(twice)).toThrow("UNIQUE constraint failed");
  db.transaction(() => db.run(insert));
  expect(db.all("select now from clock")).toEqual([{ now: 0 }]);
});
