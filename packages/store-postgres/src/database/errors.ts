/** Stable codes of the errors that these stores throw, besides those of core. */
export type PostgresErrorCode =
  /** A migration has not been run. */
  | "migration_missing"
  /** The tables are not those of this version: another version has made them, or they were changed. */
  | "schema_mismatch"
  /** A newer version of this package has migrated the schema. */
  | "database_newer"
  /** The server is a standby, or refuses writes by its settings. */
  | "read_only_store"
  /** The role may not do what the store does. */
  | "missing_rights";
