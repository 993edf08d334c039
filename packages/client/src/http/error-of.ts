import type { ApiEnvironment } from "@esim-webhooks/core";
import { variableIn } from "@esim-webhooks/core/internal";
import { ApiError, type ApiErrorCode } from "../base/api-error.ts";
import { oneLine } from "../base/bare-error.ts";
import { type Problem, readProblem } from "../base/problem.ts";
import { retryAfterMs } from "../limit/rate.ts";
import type { Attempt } from "./attempt.ts";
import type { Operation } from "./operation.ts";

/** How far an operation is. */
export interface Run {
  /** How many requests were sent. */
  attempts: number;
  /** How long it waited so far, in ms. */
  waitMs: number;
  /** The result of the last request; undefined while there is none, or when it was given up. */
  last: Attempt | undefined;
}

const longestTitle = 100;

/**
 * The error of an operation that did not succeed. Its message says what the last answer was, and quotes one line of it at most: the title
 * of its problem, unless the operation is confidential. The message may name the origin of the URL, which is no secret, and variables of the
 * API's environment, production or test.
 */
export function errorOf(
  { environment }: { readonly environment: ApiEnvironment },
  operation: Operation,
  code: ApiErrorCode,
  run: Run,
  cause?: unknown,
): ApiError {
  const { last, attempts } = run;
  const { idempotencyKey } = operation;
  const answer = last?.kind === "answered" ? last : undefined;
  const problem = answer?.body.kind === "json" ? readProblem(answer.body.value) : undefined;
  const lostBy = last?.kind === "lost" ? last.cause : undefined;
  return new ApiError(
    code,
    `${whatHappened(code, operation, run, problem)}${attempts > 1 ? ` after ${attempts} attempts` : ""}.`,
    mend(code, operation, run, problem).replace(/\bESIM_\w+/g, (name) => variableIn(environment, name)),
    {
      where: operation.name,
      status: answer?.status,
      problemDetails: problem,
      idempotencyKey,
      attempts,
      retryAfterMs: answer && retryAfterMs(answer.headers),
      cause: cause ?? lostBy,
    },
  );
}

function whatHappened(
  code: ApiErrorCode,
  { url, isConfidential }: Operation,
  { last, attempts }: Run,
  problem: Problem | undefined,
): string {
  if (last?.kind === "answered" && code !== "aborted" && code !== "timed_out") {
    const { status, body } = last;
    const line = isConfidential ? "" : oneLine(problem?.title ?? "", longestTitle);
    const title = line === "" ? "" : ` (${line})`;
    if (isRedirect(status)) return `the service answered ${status}, a redirect${title}`;
    const shape =
      body.kind === "unreadable" ? ` with ${body.shape}` : body.kind === "empty" ? " with an empty body" : "";
    return `the service answered ${status}${title}${shape}`;
  }
  if (code === "unreachable") return `nothing answers at ${new URL(url).origin}`;
  if (code === "connection_lost") return "the connection ended before the answer was complete";
  if (code === "aborted") return attempts === 0 ? "aborted before anything was sent" : "aborted";
  return attempts === 0
    ? "its time ended while it was waiting for the rate limit, and nothing was sent"
    : "there was no answer in time";
}

function mend(code: ApiErrorCode, operation: Operation, run: Run, problem: Problem | undefined): string {
  const always = remedies[code];
  if (always !== undefined) return always;
  if (code === "rate_limited")
    return "The client id has more callers: share one limiter, or lower the limit of each.";
  if (code === "in_flight")
    return `The first request is still under way: call again later with ${sameKey(operation)}.`;
  if (code === "timed_out" && run.attempts === 0)
    return "Make fewer calls at the same time, or raise timeoutMs.";
  if (code === "unexpected_status" && run.last?.kind === "answered" && isRedirect(run.last.status))
    return "It was not followed, because the token would go along: check the base URL (ESIM_API_URL).";
  if (
    run.last?.kind === "answered" &&
    code !== "service_failed" &&
    code !== "aborted" &&
    code !== "timed_out"
  )
    return problem === undefined
      ? "The answer does not say why. Check the fields, and that the base URL ends in /api/v3."
      : "The reason is in error.problemDetails.";
  if (code === "service_failed" && operation.idempotencyKey !== undefined)
    return `${repeatSafely(operation)} If it fails in the same way again, the service repeats its answer for the key: find out whether it was done, then use a new key.`;
  const isRepeatable = operation.isHarmless || operation.method === "DELETE" || run.attempts === 0;
  if (code === "unreachable" && isRepeatable) return checkAddress;
  if (isRepeatable) return "Call again later.";
  return `${code === "unreachable" ? `${checkAddress} ` : ""}${repeatSafely(operation)}`;
}

/** The advice for an operation that may have been done. */
export function repeatSafely(operation: Operation): string {
  return `It may have been done: call again later with ${sameKey(operation)}, which cannot do it twice${operation.idempotencyKey === undefined ? "" : " within 48 hours of the first attempt"}.`;
}

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400 && status !== 304;
}

function sameKey({ method }: Operation): string {
  return method === "GET" || method === "DELETE"
    ? "the same arguments"
    : "the same body and error.idempotencyKey";
}

const checkAddress = "Check that the service runs and that the base URL (ESIM_API_URL) is right.";

const remedies: { readonly [Code in ApiErrorCode]?: string } = {
  wrong_credentials: "Check ESIM_CLIENT_ID and ESIM_CLIENT_SECRET, and that they belong to this base URL.",
  unauthorized:
    "A fresh token was refused as well: check that client id, secret and base URL belong together.",
  forbidden:
    "The client has no access to this: check the references, and which client the credentials belong to.",
  not_found: "Check the references, and that the base URL ends in /api/v3.",
  key_reused:
    "Use a fresh key for each operation; the body of a call with a derived key must depend on its event alone.",
};
