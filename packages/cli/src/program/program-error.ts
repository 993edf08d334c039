/** Error codes of the command line itself. The packages have their own. */
export type ProgramErrorCode =
  | "invalid_usage"
  | "invalid_config"
  | "unreadable_file"
  | "not_an_inbox"
  | "inbox_in_use"
  | "no_handlers"
  | "missing_credentials"
  | "secret_not_kept"
  | "cannot_listen"
  | "interrupted"
  /** What `send` was to deliver got no complete answer in time. Start a receiver at that URL, or name another one; the message says which. */
  | "no_answer"
  | "store_full";

/** A mistake in the call, the environment or a file: what is wrong, and how to fix it. */
export class ProgramError extends Error {
  override readonly name = "ProgramError";
  readonly code: ProgramErrorCode;

  constructor(code: ProgramErrorCode, problem: string, remedy: string, options?: { cause: unknown }) {
    super(`${problem} ${remedy}`, options);
    this.code = code;
  }
}
