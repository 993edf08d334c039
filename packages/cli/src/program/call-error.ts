import type { ApiError, ApiErrorCode } from "@esim-webhooks/client";
import { span } from "@esim-webhooks/core/internal";
import { WebhookError } from "@esim-webhooks/core/log-lines";
import { maskText } from "@esim-webhooks/core/masking";

/** An error of a call to the API, without the names of the client's functions and with what the service says. Any other error as it is. */
export function explainedCall(error: unknown): unknown {
  if (!isOfCall(error)) return error;
  const innermost = isOfCall(error.cause) ? error.cause : error; // the error of getting the token that the call needed
  const { cause } = innermost;
  return new WebhookError<ApiErrorCode>(error.code, whatHappened(innermost), remedyOf(innermost), { cause });
}

/** The error of a call that registers an endpoint, with what to do if the service may have registered it. Any other error as it is. */
export function explainedCreate(error: unknown): unknown {
  if (!isOfCall(error)) return error;
  const isUnclear = error.code === "unexpected_answer" || error.code === "secret_not_shown";
  if (error.attempts === 0 || !(error.retryable || isUnclear)) return error;
  return new WebhookError<ApiErrorCode>(
    error.code,
    whatHappened(error),
    "The endpoint may be registered, and its secret is lost: esim-webhooks api endpoints list shows it. Delete it then, and create it again.",
    { cause: error.cause },
  );
}

function isOfCall(error: unknown): error is ApiError {
  return WebhookError.is(error) && (error as Error).name === "ApiError";
}

function whatHappened({ problem }: ApiError): string {
  return problem.charAt(0).toUpperCase() + problem.slice(1);
}

/** The codes of answers whose only explanation is that of the service. */
const refusals: readonly ApiErrorCode[] = ["bad_request", "conflict", "unexpected_status"];

/** The service's words about it, and the advice. */
function remedyOf({ code, remedy, status = 0, problemDetails, retryAfterMs }: ApiError): string {
  const said =
    problemDetails?.detail === undefined ? [] : [`The service says: ${maskText(problemDetails.detail)}`];
  if (problemDetails !== undefined && status >= 400 && refusals.includes(code))
    return said[0] ?? "The service does not say why.";
  if (code === "in_flight") said.push("The first request is still under way: run the command again later.");
  else if (code === "rate_limited" && retryAfterMs !== undefined)
    said.push(`Run it again in ${span(retryAfterMs + 999)}.`);
  else said.push(remedy);
  return said.join(" ");
}
