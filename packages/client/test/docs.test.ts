import { readFileSync } from "node:fs";
import type { ApiErrorCode } from "@esim-webhooks/client";
import { describe, expect, it } from "vitest";

const page = readFileSync(new URL("../../../docs/client.md", import.meta.url), "utf8");

describe("docs/client.md", () => {
  it("has every code of an ApiError", () => {
    const every: Readonly<Record<ApiErrorCode, true>> = {
      invalid_request: true,
      wrong_credentials: true,
      exchange_failed: true,
      limiter_failed: true,
      bad_request: true,
      unauthorized: true,
      forbidden: true,
      not_found: true,
      conflict: true,
      key_reused: true,
      in_flight: true,
      rate_limited: true,
      service_failed: true,
      unexpected_status: true,
      unreachable: true,
      connection_lost: true,
      timed_out: true,
      aborted: true,
      unreadable_answer: true,
      unexpected_answer: true,
      secret_not_shown: true,
    };
    const [, table = ""] = /## Errors\n([\s\S]*?)\n## /.exec(page) ?? [];
    const named = [
      ...table.matchAll(/`([a-z]+(?:_[a-z]+)+|unreachable|aborted|unauthorized|forbidden|conflict)`/g),
    ];
    expect(new Set(named.map(([, code]) => code))).toEqual(new Set(Object.keys(every)));
  });
});
