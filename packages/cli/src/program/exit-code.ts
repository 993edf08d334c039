import type { ApiErrorCode } from "@esim-webhooks/client";
import type { CoreErrorCode } from "@esim-webhooks/core";
import { WebhookError } from "@esim-webhooks/core/log-lines";
import type { EndpointErrorCode } from "@esim-webhooks/endpoint";
import type { ImportErrorCode } from "@esim-webhooks/import";
import type { SandboxErrorCode } from "@esim-webhooks/sandbox";
import type { PostgresErrorCode } from "@esim-webhooks/store-postgres";
import type { RedisErrorCode } from "@esim-webhooks/store-redis";
import type { SqliteErrorCode } from "@esim-webhooks/store-sqlite";
import type { ProgramErrorCode } from "./program-error.ts";

/** The program's exit codes. They are public: scripts rely on them. */
export const exitCodes = {
  ok: 0,
  /** Something that the command needs is unavailable or broken, or the program has a bug. */
  unexpected: 1,
  /** The command line, the environment or the config file has a mistake. */
  usage: 2,
  /** The command ran, and found a problem in what it checked. */
  problem: 3,
  /** The command was stopped before it had finished. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** The error codes of all packages. `byErrorCode` does not compile when one is missing. */
type ErrorCode =
  | ApiErrorCode
  | CoreErrorCode
  | EndpointErrorCode
  | ImportErrorCode
  | PostgresErrorCode
  | RedisErrorCode
  | SandboxErrorCode
  | SqliteErrorCode
  | ProgramErrorCode;

const byErrorCode: Readonly<Record<ErrorCode, ExitCode>> = {
  missing_secret: exitCodes.usage,
  invalid_secret: exitCodes.usage,
  invalid_option: exitCodes.usage,
  invalid_input: exitCodes.usage,
  unsupported_node: exitCodes.usage,
  unknown_event_type: exitCodes.usage,
  async_schema: exitCodes.usage,
  conflicting_outcomes: exitCodes.unexpected,
  outcome_too_late: exitCodes.unexpected,
  unsigned_dump: exitCodes.usage,
  source_unknown: exitCodes.usage,
  other_environment: exitCodes.usage,
  checkpoint_mismatch: exitCodes.usage,
  invalid_usage: exitCodes.usage,
  invalid_config: exitCodes.usage,
  invalid_request: exitCodes.usage,
  missing_credentials: exitCodes.usage,
  wrong_credentials: exitCodes.usage,
  unauthorized: exitCodes.usage,
  forbidden: exitCodes.usage,
  bad_request: exitCodes.usage,
  key_reused: exitCodes.usage,
  unreadable_file: exitCodes.usage,
  unusable_data: exitCodes.usage,
  not_an_inbox: exitCodes.usage,
  no_handlers: exitCodes.usage,
  network_mount: exitCodes.usage,
  node_too_old: exitCodes.usage,
  thread_missing: exitCodes.usage,
  damaged_dump: exitCodes.problem,
  unknown_dump: exitCodes.problem,
  dump_too_large: exitCodes.problem,
  change_under_way: exitCodes.problem,
  endpoint_cap: exitCodes.problem,
  endpoint_unknown: exitCodes.usage,
  durable_store_required: exitCodes.usage,
  not_settled: exitCodes.problem,
  receivers_not_ready: exitCodes.problem,
  no_watermark: exitCodes.usage,
  reconcile_in_use: exitCodes.unexpected,
  invalid_state: exitCodes.unexpected,
  not_found: exitCodes.problem,
  conflict: exitCodes.problem,
  database_corrupt: exitCodes.unexpected,
  database_moved: exitCodes.unexpected,
  database_newer: exitCodes.unexpected,
  database_not_utf8: exitCodes.unexpected,
  database_read_only: exitCodes.unexpected,
  checkpoint_in_use: exitCodes.unexpected,
  foreign_file: exitCodes.usage,
  evicting_store: exitCodes.unexpected,
  missing_replicas: exitCodes.unexpected,
  missing_rights: exitCodes.unexpected,
  read_only_store: exitCodes.unexpected,
  inbox_in_use: exitCodes.unexpected,
  migration_blocked: exitCodes.unexpected,
  migration_missing: exitCodes.unexpected,
  schema_mismatch: exitCodes.unexpected,
  store_full: exitCodes.unexpected,
  unsaved_store: exitCodes.unexpected,
  store_unavailable: exitCodes.unexpected,
  keys_unavailable: exitCodes.unexpected,
  shutting_down: exitCodes.unexpected,
  close_timed_out: exitCodes.unexpected,
  wal_in_use: exitCodes.unexpected,
  cannot_listen: exitCodes.unexpected,
  no_answer: exitCodes.unexpected,
  secret_not_kept: exitCodes.unexpected,
  exchange_failed: exitCodes.unexpected,
  limiter_failed: exitCodes.unexpected,
  in_flight: exitCodes.unexpected,
  rate_limited: exitCodes.unexpected,
  service_failed: exitCodes.unexpected,
  unexpected_status: exitCodes.unexpected,
  unreachable: exitCodes.unexpected,
  connection_lost: exitCodes.unexpected,
  timed_out: exitCodes.unexpected,
  unreadable_answer: exitCodes.unexpected,
  unexpected_answer: exitCodes.unexpected,
  secret_not_shown: exitCodes.unexpected,
  aborted: exitCodes.interrupted,
  interrupted: exitCodes.interrupted,
};

/** Returns the code of an error of this project, also if another copy of its packages threw it, and `store_full` for a full disk. Otherwise undefined. */
export function errorCodeOf(error: unknown): keyof typeof byErrorCode | undefined {
  if (isFullDisk(error)) return "store_full";
  return WebhookError.is(error) && isErrorCode(error.code) ? error.code : undefined;
}

export function isErrorCode(code: unknown): code is keyof typeof byErrorCode {
  return typeof code === "string" && Object.hasOwn(byErrorCode, code);
}

export function exitCodeOfError(error: unknown): ExitCode {
  const code = errorCodeOf(error);
  return code === undefined ? exitCodes.unexpected : byErrorCode[code];
}

/** Translates the exit code of the command line's parser into one of ours. */
export function exitCodeOfParser(code: number | string | null | undefined): number {
  const value = Number(code ?? 0);
  if (value >= 0) return value;
  const isInputError = value === -4 || value === -5; // its InvalidArgument and UnknownCommand
  return isInputError ? exitCodes.usage : exitCodes.unexpected;
}

/** Whether it is the system's error for a full disk or quota. */
export function isFullDisk(error: unknown): boolean {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  return code === "ENOSPC" || code === "EDQUOT";
}
