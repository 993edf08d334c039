import { type ErrorSubject, WebhookError } from "@esim-webhooks/core/log-lines";

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

type Subject = ErrorSubject & { readonly cause?: unknown };

/** An error of the command line itself: what is wrong, and how to fix it. */
export function programError(
  code: ProgramErrorCode,
  problem: string,
  remedy: string,
  subject?: Subject,
): WebhookError<ProgramErrorCode> {
  return new WebhookError<ProgramErrorCode>(code, problem, remedy, subject);
}

/** The error of a mistake in the call or in the environment. */
export function invalidUsage(
  problem: string,
  remedy: string,
  subject?: Subject,
): WebhookError<ProgramErrorCode> {
  return new WebhookError<ProgramErrorCode>("invalid_usage", problem, remedy, subject);
}
