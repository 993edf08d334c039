import { type Connection, pragma } from "../database/connection.ts";
import { FaultError, faultOf, isOfRoom } from "../database/faults.ts";

/** Writes all that is committed, the user's own tables included, to an empty file, while others read and write. */
export function backup(connection: Connection, { file }: { readonly file: string }): void {
  connection.exec("pragma query_only = off"); // it would also forbid the copy
  try {
    connection.run("vacuum into ?", file);
  } catch (error) {
    throw isOfRoom(error) ? new FaultError(faultOf(error, file)) : error; // only the copy takes room
  } finally {
    connection.exec("pragma query_only = on");
  }
}

/** Describes the first damage in the file; undefined if there is none. Reads the whole file. Throws where SQLite cannot read further. */
export function quickCheck(connection: Connection): string | undefined {
  const found = pragma(connection, "quick_check(1)");
  return found === "ok" ? undefined : String(found);
}
