import { type ErrorSubject, WebhookError } from "@esim-webhooks/core/log-lines";

/** Error codes of the command line itself. The packages have their own. */
export type ProgramErrorCode =
  /** A flag, an argument or a variable is wrong or missing. Correct what the message names; `--help` of the command lists them. */
  | "invalid_usage"
  /** The config file is missing, cannot be loaded, or has options that contradict each other. Correct what the message names. */
  | "invalid_config"
  /** A file is missing, or cannot be read. Name another one, or let this user read it. */
  | "unreadable_file"
  /** The target stores events, but cannot do what the command needs. Use the tools of its queue, or an inbox such as `sqliteInbox` or `postgresInbox`. */
  | "not_an_inbox"
  /** Another process is working on the inbox. Stop `serve` and `work`, and run the same command again. */
  | "inbox_in_use"
  | "no_handlers"
  /** A credential of the API is not set. Set `ESIM_API_URL`, `ESIM_CLIENT_ID` and `ESIM_CLIENT_SECRET`, or `api` of the config file. */
  | "missing_credentials"
  | "secret_not_kept"
  /** The port is taken or not permitted, or the address is not one of this machine. Choose another with `--port` (0: any), `--host`, or the option that the message names. */
  | "cannot_listen"
  /** A signal stopped the command before it had finished. Run it again: an import or a reconciliation continues. */
  | "interrupted"
  /** The delivery of `send` got no complete answer in time. Start a receiver at that URL, or name another one; the message says which. */
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
