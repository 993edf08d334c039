import { isServerUrl } from "@esim-webhooks/core/kit";
import type { DatabaseOptions } from "./database.ts";

/** The options of a pool of `pg` that say where it connects to. */
interface Address {
  readonly connectionString?: string;
  readonly host?: string;
  readonly port?: number;
  readonly database?: string;
}

/** The server, the database and the schema, for people, without user and password. */
export function placeOf<Database>({ url, pool, kysely }: DatabaseOptions<Database>, schema: string): string {
  if (kysely !== undefined) return `Postgres, by a kysely instance, schema ${schema}`;
  const { connectionString = url, host, port, database }: Address = pool?.options ?? {};
  const server = [host, port].filter(Boolean).join(":");
  const address =
    connectionString === undefined ? (database ? `${server}/${database}` : server) : hostIn(connectionString);
  return `Postgres${address && ` at ${address}`}, schema ${schema}`; // the environment may have the address
}

/** The host, the port and the database in a URL. */
function hostIn(text: string): string {
  if (!isServerUrl(text, "postgres:", "postgresql:")) return ""; // its password may have no clear end
  const { host, pathname } = URL.parse(text) ?? { host: "", pathname: "" };
  return host + pathname;
}
