import { type RawBuilder, sql } from "kysely";
import { qualified, type Tables } from "../database/tables.ts";

/**
 * The fence or version of a row that a copy writes: a new negative number. Whoever leases, reruns or redrives the event, or
 * writes the state, sets a positive one. So a later copy recognises the rows that nobody has changed since.
 */
export function copyMark(tables: Tables): RawBuilder<string> {
  return sql`-nextval(${qualified(tables, "fence")}::regclass)`;
}
