/** Stable codes of the errors that these stores throw, besides those of core. */
export type PostgresErrorCode =
  /** A migration has not been run. */
  | "migration_missing"
  /** A migration has not been run, but later ones have. */
  | "migration_gap"
  /** A newer version of this package has migrated the schema. */
  | "database_newer"
  /** The server is a standby, or refuses writes by its settings. */
  | "read_only_store"
  /** The role may not do what the store does. */
  | "missing_rights";
