/** Stable codes of the errors that this store throws, besides those of core. */
export type RedisErrorCode =
  | "evicting_store"
  | "missing_replicas"
  | "missing_rights"
  | "read_only_store"
  | "unsaved_store";
