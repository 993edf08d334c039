import { addressText, isServerUrl, type ServerAddress } from "@esim-webhooks/core/kit";
import type { DatabaseOptions } from "./database.ts";

/** The options of a pool of `pg` that say where it connects to. */
interface Address extends ServerAddress {
  readonly connectionString?: string;
}

/** The server, the database and the schema, for people, without user and password. */
export function placeOf<Database>({ url, pool, kysely }: DatabaseOptions<Database>, schema: string): string {
  if (kysely !== undefined) return `Postgres, by a kysely instance, schema ${schema}`;
  const { connectionString = url, ...parts }: Address = pool?.options ?? {};
  const address = connectionString === undefined ? addressText(parts) : hostIn(connectionString);
  return `Postgres${address && ` at ${address}`}, schema ${schema}`; // the environment may have the address
}

/** The host, the port and the database in a URL. */
function hostIn(text: string): string {
  if (!isServerUrl(text, "postgres:", "postgresql:")) return ""; // its password may have no clear end
  const { host, pathname } = URL.parse(text) ?? { host: "", pathname: "" };
  return host + pathname;
}
