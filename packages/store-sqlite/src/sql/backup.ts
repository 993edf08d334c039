import type { Connection } from "../database/connection.ts";
import { FaultError } from "../database/errors.ts";
import { faultOf, isOfRoom } from "../database/faults.ts";

/** Writes all that is committed, the user's own tables included, to an empty file. Others read and write meanwhile. */
export function backup(connection: Connection, { file }: { readonly file: string }): void {
  connection.exec("pragma query_only = off"); // the copy is written
  try {
    connection.run("vacuum into ?", file);
  } catch (error) {
    throw isOfRoom(error) ? new FaultError(faultOf(error, file)) : error; // only the copy takes room
  } finally {
    connection.exec("pragma query_only = on");
  }
}
