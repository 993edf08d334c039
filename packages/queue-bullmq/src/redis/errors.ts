/** Stable codes of the errors that this package throws, besides those of core. */
export type BullmqErrorCode =
  | "evicting_store"
  | "missing_replicas"
  | "missing_rights"
  | "read_only_store"
  | "unsaved_store"
  | "wrong_credentials";
