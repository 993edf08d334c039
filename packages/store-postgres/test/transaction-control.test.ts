import { describe, expect, it } from "vitest";
import { transactionControlIn } from "../src/database/transaction-control.ts";

describe("a statement that begins or ends a transaction is found", () => {
  it.each([
    ["begin", "BEGIN"],
    ["BEGIN ISOLATION LEVEL SERIALIZABLE", "BEGIN"],
    ["start  transaction read only", "START TRANSACTION"],
    ["Commit and chain", "COMMIT"],
    [" \n END;", "END"],
    ["rollback", "ROLLBACK"],
    ["rollback and chain", "ROLLBACK"],
    ["ABORT", "ABORT"],
    ["prepare transaction 'x'", "PREPARE TRANSACTION"],
    ["commit prepared 'x'", "COMMIT"],
    ["-- done\ncommit", "COMMIT"],
    ["/* done */ com/**/mit; /* ; */ commit", "COMMIT"],
    ["/* a /* nested */ one */ commit", "COMMIT"],
    ["insert into a values ('x;'); commit; begin", "COMMIT"],
    ["select E'it\\'s'; commit --'", "COMMIT"],
    ["select $$ ; $$; commit", "COMMIT"],
    ["select $a$ $$ ; $a$; rollback", "ROLLBACK"],
    ['select ";"; rollback', "ROLLBACK"],
    [";;commit", "COMMIT"],
  ])("%j", (sql, found) => expect(transactionControlIn(sql)).toBe(found));
});

describe("a statement that stays within its transaction passes", () => {
  it.each([
    "savepoint a",
    "rollback to a",
    "ROLLBACK WORK TO SAVEPOINT a",
    "rollback transaction to a",
    "release savepoint a",
    "set local statement_timeout = 1000",
    "prepare a as select 1",
    "select 'commit; begin'",
    "select $$; commit;$$",
    "select $fn$; commit;$fn$, $1",
    "select E'\\'; commit'",
    'select 1 as "; commit"',
    "insert into commit values ($1) -- ; commit",
    "insert into a select 1 /* ; commit */",
    "do $$ begin perform 1; end $$",
    "update a set a$b = 1, commit = 2",
    "committed",
    "",
  ])("%j", (sql) => expect(transactionControlIn(sql)).toBeUndefined());
});
