import type { Kysely } from "kysely";

/** The same database for our own queries: free of the user's plugins and schema, which are about the user's tables. */
export function withoutPlugins<Database>(db: Kysely<Database>): Kysely<unknown> {
  return db.withoutPlugins() as unknown as Kysely<unknown>;
}
