import type { CoreErrorCode } from "@esim-webhooks/core";
import type { ImportErrorCode } from "@esim-webhooks/import";
import type { PostgresErrorCode } from "@esim-webhooks/store-postgres";
import type { RedisErrorCode } from "@esim-webhooks/store-redis";
import type { ProgramErrorCode } from "./program-error.ts";

/** What the program ends with. Part of its interface: scripts rely on it. */
export const exitCodes = {
  ok: 0,
  /** Something it needs is away or broken, or the program itself is wrong. */
  unexpected: 1,
  /** The command line, the environment or the config file is to be corrected. */
  usage: 2,
  /** It ran as it should, and what it looked at is not as it should be. */
  problem: 3,
  /** It was stopped before it had done what it was asked. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Every code of every package: one that is missing here does not compile. */
type ErrorCode = CoreErrorCode | ImportErrorCode | PostgresErrorCode | RedisErrorCode | ProgramErrorCode;

const byErrorCode: Readonly<Record<ErrorCode, ExitCode>> = {
  missing_secret: exitCodes.usage,
  invalid_secret: exitCodes.usage,
  invalid_option: exitCodes.usage,
  invalid_input: exitCodes.usage,
  unknown_event_type: exitCodes.usage,
  async_schema: exitCodes.usage,
  unsigned_dump: exitCodes.usage,
  checkpoint_mismatch: exitCodes.usage,
  invalid_usage: exitCodes.usage,
  invalid_config: exitCodes.usage,
  unreadable_file: exitCodes.usage,
  not_an_inbox: exitCodes.usage,
  no_handlers: exitCodes.usage,
  damaged_dump: exitCodes.problem,
  unknown_dump: exitCodes.problem,
  dump_too_large: exitCodes.problem,
  evicting_store: exitCodes.unexpected,
  folder_in_use: exitCodes.unexpected,
  migration_missing: exitCodes.unexpected,
  store_full: exitCodes.unexpected,
  store_unavailable: exitCodes.unexpected,
  cannot_listen: exitCodes.unexpected,
  no_answer: exitCodes.unexpected,
};

/** The code of an error of this project, whichever copy of a package made it. Loads none of them. */
export function errorCodeOf(error: unknown): keyof typeof byErrorCode | undefined {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  const isOurs =
    error instanceof Error && (error.name === "ProgramError" || Symbol.for("esim-webhooks.error") in error);
  return isOurs && isErrorCode(code) ? code : undefined;
}

export function isErrorCode(code: unknown): code is keyof typeof byErrorCode {
  return typeof code === "string" && Object.hasOwn(byErrorCode, code);
}

export function exitCodeOfError(error: unknown): ExitCode {
  const code = errorCodeOf(error);
  return code === undefined ? exitCodes.unexpected : byErrorCode[code];
}

/** What the parser of the command line ends with, as one of ours. */
export function exitCodeOfParser(code: number | string | null | undefined): number {
  const given = Number(code ?? 0);
  if (given >= 0) return given;
  const isOfTheInput = given === -4 || given === -5; // its InvalidArgument and UnknownCommand
  return isOfTheInput ? exitCodes.usage : exitCodes.unexpected;
}
