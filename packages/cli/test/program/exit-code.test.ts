import type { ApiErrorCode } from "@esim-webhooks/client";
import { type CoreErrorCode, WebhookError } from "@esim-webhooks/core";
import type { ImportErrorCode } from "@esim-webhooks/import";
import type { PostgresErrorCode } from "@esim-webhooks/store-postgres";
import type { RedisErrorCode } from "@esim-webhooks/store-redis";
import type { SqliteErrorCode } from "@esim-webhooks/store-sqlite";
import { ExitCode } from "@stricli/core";
import { describe, expect, it } from "vitest";
import { describeError } from "../../src/program/error-text.ts";
import { exitCodeOfError, exitCodeOfParser, exitCodes } from "../../src/program/exit-code.ts";
import { type ProgramErrorCode, programError } from "../../src/program/program-error.ts";

describe("exit codes", () => {
  it("are 0, 1, 2, 3 and 130", () => {
    expect(exitCodes).toEqual({ ok: 0, unexpected: 1, usage: 2, problem: 3, interrupted: 130 });
  });

  const codes: Readonly<
    Record<
      ApiErrorCode | CoreErrorCode | ImportErrorCode | PostgresErrorCode | RedisErrorCode | SqliteErrorCode,
      number
    >
  > = {
    missing_secret: 2,
    keys_unavailable: 1,
    shutting_down: 1,
    close_timed_out: 1,
    invalid_secret: 2,
    invalid_option: 2,
    invalid_input: 2,
    unknown_event_type: 2,
    async_schema: 2,
    conflicting_outcomes: 1,
    outcome_too_late: 1,
    unsigned_dump: 2,
    source_unknown: 2,
    checkpoint_mismatch: 2,
    damaged_dump: 3,
    unknown_dump: 3,
    dump_too_large: 3,
    checkpoint_in_use: 1,
    foreign_file: 2,
    evicting_store: 1,
    missing_replicas: 1,
    missing_rights: 1,
    read_only_store: 1,
    database_corrupt: 1,
    database_moved: 1,
    database_newer: 1,
    database_not_utf8: 1,
    database_read_only: 1,
    network_mount: 2,
    node_too_old: 2,
    thread_missing: 2,
    wal_in_use: 1,
    migration_blocked: 1,
    migration_missing: 1,
    schema_mismatch: 1,
    store_full: 1,
    unsaved_store: 1,
    store_unavailable: 1,
    invalid_request: 2,
    wrong_credentials: 2,
    unauthorized: 2,
    forbidden: 2,
    bad_request: 2,
    key_reused: 2,
    not_found: 3,
    conflict: 3,
    exchange_failed: 1,
    limiter_failed: 1,
    in_flight: 1,
    rate_limited: 1,
    service_failed: 1,
    unexpected_status: 1,
    unreachable: 1,
    connection_lost: 1,
    timed_out: 1,
    unreadable_answer: 1,
    unexpected_answer: 1,
    secret_not_shown: 1,
    aborted: 130,
  };
  it.each(Object.entries(codes))("of a WebhookError %s is %i", (code, exitCode) => {
    expect(exitCodeOfError(new WebhookError<string>(code, "Wrong.", "Mend it."))).toBe(exitCode);
  });

  const own: Readonly<Record<ProgramErrorCode, number>> = {
    invalid_usage: 2,
    invalid_config: 2,
    unreadable_file: 2,
    not_an_inbox: 2,
    inbox_in_use: 1,
    no_handlers: 2,
    missing_credentials: 2,
    secret_not_kept: 1,
    cannot_listen: 1,
    interrupted: 130,
    no_answer: 1,
    store_full: 1,
  };
  it.each(Object.entries(own))("of the command line, %s, is %i", (code, exitCode) => {
    expect(exitCodeOfError(programError(code as ProgramErrorCode, "Wrong.", "Mend it."))).toBe(exitCode);
  });

  it.each(["ENOSPC", "EDQUOT"])(
    "of a full disk (%s) is 1, with the same sentence in every command",
    (code) => {
      const cause = Object.assign(new Error(`${code}: no room`), { code, path: "events.db" });
      expect(exitCodeOfError(cause)).toBe(1);
      expect(describeError(cause, {})).toBe(
        `Error (store_full): There is no room left for events.db. Free space on its disk, or raise the quota. Cause: ${code}: no room.`,
      );
    },
  );

  it("is 1 for an unexpected error, even if it has a code that looks like ours", () => {
    expect(exitCodeOfError(new TypeError("x"))).toBe(1);
    expect(exitCodeOfError("x")).toBe(1);
    expect(exitCodeOfError(Object.assign(new Error("x"), { code: "invalid_option" }))).toBe(1);
  });

  it("is never negative, for any code that the parser returns", () => {
    expect(
      Object.fromEntries(Object.entries(ExitCode).map(([name, code]) => [name, exitCodeOfParser(code)])),
    ).toEqual({
      Success: 0,
      CommandRunError: 1,
      InvalidArgument: 2,
      UnknownCommand: 2,
      IntegrationError: 1,
      ContextLoadError: 1,
      CommandLoadError: 1,
      InternalError: 1,
    });
    expect(exitCodeOfParser(3)).toBe(3);
    expect(exitCodeOfParser(undefined)).toBe(0);
  });
});
