import { WebhookError } from "@esim-webhooks/core";
import type { Failure } from "./contract.ts";

/** The stable codes of refused calls, and their statuses. */
const statuses = {
  invalid_call: 400,
  not_from_the_page: 403,
  not_an_operator: 403,
  event_not_found: 404,
  unknown_call: 404,
  already_paused: 409,
  body_too_large: 413,
  internal_error: 500,
  service_unavailable: 502,
  inbox_unavailable: 503,
} as const;

export type FailureCode = keyof typeof statuses;

/** Makes the error of a refused call: what is wrong, and how to fix it. */
export function refused(
  code: FailureCode,
  problem: string,
  remedy: string,
  cause?: unknown,
): WebhookError<FailureCode> {
  return new WebhookError<FailureCode>(code, problem, remedy, { cause });
}

/** The answer to a call that has thrown. An error that is not about the call shows no detail: it may quote personal data. */
export function failureOf(thrown: unknown): { readonly status: number; readonly failure: Failure } {
  const { code, problem, remedy } = explained(thrown);
  return { status: statuses[code], failure: { code, message: `${problem} ${remedy}` } };
}

interface Explained {
  readonly code: FailureCode;
  readonly problem: string;
  readonly remedy: string;
}

function explained(thrown: unknown): Explained {
  if (!WebhookError.is(thrown)) return unexpected;
  const { code, problem, remedy } = thrown;
  if (Object.hasOwn(statuses, code)) return { code: code as FailureCode, problem, remedy };
  if (code === "store_unavailable") return unavailable;
  const isAboutCall = code === "invalid_input" || code === "invalid_option";
  return isAboutCall ? { code: "invalid_call", problem, remedy } : unexpected;
}

const unavailable: Explained = {
  code: "inbox_unavailable",
  problem: "The inbox does not answer.",
  remedy: "Check its database; the log of this process has the error.",
};

const unexpected: Explained = {
  code: "internal_error",
  problem: "The call has failed.",
  remedy: "The log of this process has the error.",
};
