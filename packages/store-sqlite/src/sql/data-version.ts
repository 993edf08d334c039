import { type Connection, pragma } from "../database/connection.ts";

/** Another number once any other connection has committed. Only numbers of one connection can be compared. */
export function dataVersion(connection: Connection, _: undefined): number {
  return Number(pragma(connection, "data_version"));
}
