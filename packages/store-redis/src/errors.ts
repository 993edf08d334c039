/** Stable codes of the errors that this store throws, besides those of core. */
export type RedisErrorCode = "evicting_store" | "missing_rights" | "read_only_store";
