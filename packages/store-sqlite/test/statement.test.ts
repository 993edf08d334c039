import { describe, expect, it } from "vitest";
import { headOf, readStatement } from "../src/statement.ts";

describe("a statement", () => {
  it.each([
    ["insert into t values (1)", "insert", "t"],
    ["INSERT OR REPLACE INTO main.[a b] values (1)", "insert", "a b"],
    ["-- insert\n/* delete */ update or ignore 't' set n = 1", "update", "t"],
    ["delete from `t`", "delete", "t"],
    ["replace into t default values", "replace", "t"],
    ["with a (n) as (select 1), b as materialized (values (2)) insert into t select * from a", "insert", "t"],
    ["with a as (select 'insert' from t) select * from a", "select", undefined],
    ["with replace as (select 1) select * from replace", "select", undefined],
    ["/* never closed insert into t", "", undefined],
  ])("is read: %j", (sql, verb, table) => {
    expect(readStatement(sql)).toEqual({ verb, table, hasMore: false });
  });

  it.each([
    ["delete from t; -- done", false],
    ["delete from t where n = ';'; ;", false],
    ["delete from t; delete from u", true],
  ])("is followed by another one in %j: %s", (sql, hasMore) => {
    expect(readStatement(sql).hasMore).toBe(hasMore);
  });

  it("is read in no time behind a hundred comments", () => {
    const sql = `${"/**/".repeat(100)}x`;
    expect(readStatement(sql).verb).toBe("x");
  });

  it("is shown by its head, without a value", () => {
    expect(headOf("commit")).toBe("commit");
    expect(headOf("update orders2\n set a = 17 where b = 'x'")).toBe("update orders2 set a = …");
    expect(headOf(`update ${"t".repeat(100)}`)).toBe(`update ${"t".repeat(53)} …`);
  });
});
