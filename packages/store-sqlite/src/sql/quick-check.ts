import { type Connection, pragma } from "../database/connection.ts";

/** What the first damage is; undefined: none was found. Reads the whole file. Throws where SQLite cannot read on. */
export function quickCheck(connection: Connection): string | undefined {
  const found = pragma(connection, "quick_check(1)");
  return found === "ok" ? undefined : String(found);
}
