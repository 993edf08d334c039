/** The codes of this package's own errors; they are stable. */
export type NestErrorCode =
  | "misplaced_decorator"
  | "duplicate_handler"
  | "scoped_handler"
  /** No handlers were found, so every event would be acknowledged and dropped. Add them to the config file, or to a provider. */
  | "no_handlers";
