/** The codes of this package's own errors; they are stable. */
export type NestErrorCode = "misplaced_decorator" | "duplicate_handler" | "scoped_handler" | "no_handlers";
