import type { ApiErrorCode } from "../base/api-error.ts";
import { retryAfterMs } from "../limit/rate.ts";
import type { Attempt } from "./attempt.ts";
import type { Operation } from "./operation.ts";

/** The decision after an attempt. */
export type Verdict =
  | { readonly next: "done" }
  /** An earlier attempt of a DELETE had taken effect, though its answer was lost or a 5xx. */
  | { readonly next: "gone" }
  /** Once more with a fresh token. */
  | { readonly next: "renew" }
  /** Once more, if attempts and time are left; `afterMs` is what the service asks for. */
  | { readonly next: "retry"; readonly code: ApiErrorCode; readonly afterMs?: number | undefined }
  | { readonly next: "fail"; readonly code: ApiErrorCode };

/** The results of the earlier attempts of an operation. */
export interface History {
  /** The service refused a token, and a fresh one was fetched. */
  readonly hasFreshToken: boolean;
  /** An answer was lost, or said that the service failed: it may have done what was asked. */
  readonly mayBeDone: boolean;
  /** How many 5xx answers came. */
  readonly failures: number;
}

export const noHistory: History = { hasFreshToken: false, mayBeDone: false, failures: 0 };

/** The history with one more attempt. */
export function remember({ hasFreshToken, mayBeDone, failures }: History, attempt: Attempt): History {
  const hasFailed = attempt.kind === "answered" && attempt.status >= 500;
  return {
    hasFreshToken: hasFreshToken || (attempt.kind === "answered" && attempt.status === 401),
    mayBeDone: mayBeDone || hasFailed || attempt.kind === "lost",
    failures: failures + (hasFailed ? 1 : 0),
  };
}

/** A call fails at this many 5xx answers under its idempotency key: they may be the kept answer of one attempt, which more attempts would only see again. */
const failuresPerKey = 3;

/**
 * The retry rule. It repeats only what cannot take effect twice: what the service refused to start (429; 423, or 409 with `Retry-After`,
 * while the first request is in flight; of `numbers.allocate` any 409), and what may be done already if it is harmless, has an idempotency
 * key, or is a DELETE. A 401 is repeated once, with a fresh token.
 */
export function judge(operation: Operation, attempt: Attempt, history: History): Verdict {
  const { method, isHarmless, idempotencyKey } = operation;
  const isRepeatable = isHarmless || idempotencyKey !== undefined || method === "DELETE";

  if (attempt.kind === "lost") return { next: isRepeatable ? "retry" : "fail", code: attempt.code };
  const { status, headers } = attempt;
  const afterMs = retryAfterMs(headers);
  if (status >= 200 && status < 300) return { next: "done" };
  if (status === 429) return { next: "retry", code: "rate_limited", afterMs };
  if (status === 423 || (status === 409 && (headers.has("retry-after") || onlyInFlight.has(operation.name))))
    return { next: "retry", code: "in_flight", afterMs };
  if (status === 404 && method === "DELETE" && history.mayBeDone) return { next: "gone" };
  if (status === 401 && !history.hasFreshToken) return { next: "renew" };
  if (status >= 500) {
    const isKept = idempotencyKey !== undefined && history.failures + 1 >= failuresPerKey;
    return { next: isRepeatable && !isKept ? "retry" : "fail", code: "service_failed", afterMs };
  }
  return { next: "fail", code: codes[status] ?? "unexpected_status" };
}

/** Operations for which a 409 always means in flight: no other meaning is documented. Its `Retry-After` may be missing, dropped by a proxy. */
const onlyInFlight: ReadonlySet<string> = new Set(["numbers.allocate"]);

const codes: Readonly<Record<number, ApiErrorCode>> = {
  400: "bad_request",
  401: "unauthorized",
  403: "forbidden",
  404: "not_found",
  409: "conflict",
  422: "key_reused",
};
