/** Stable codes of the errors that these stores throw, besides those of core. */
export type PostgresErrorCode = "migration_missing";
