import type { Kysely } from "kysely";

/** The same database for our own queries, without the user's plugins, which are for the user's tables. */
export function withoutPlugins<Database>(db: Kysely<Database>): Kysely<unknown> {
  return db.withoutPlugins() as unknown as Kysely<unknown>;
}
