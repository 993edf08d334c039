import { ApiError, type ApiErrorCode } from "@esim-webhooks/client";
import { WebhookError } from "@esim-webhooks/core";
import { maskText } from "../masking/mask-text.ts";

/** An error of a call, without the names of the client's functions and with what the service says. */
export function explained(error: unknown): unknown {
  if (!(error instanceof ApiError)) return error;
  const innermost = error.cause instanceof ApiError ? error.cause : error; // of the token that the call needed
  const { problem, remedy } = halvesOf(innermost);
  return new WebhookError<ApiErrorCode>(error.code, problem, remedy, { cause: innermost.cause });
}

/** The error of a call that registers an endpoint: what to do if the service has done it all the same. */
export function explainedCreate(error: unknown): unknown {
  const isUnknown =
    error instanceof ApiError &&
    error.attempts > 0 &&
    (error.retryable || error.code === "unexpected_answer" || error.code === "secret_not_shown");
  if (!isUnknown) return error;
  return new WebhookError<ApiErrorCode>(
    error.code,
    halvesOf(error).problem,
    "The endpoint may be registered, and nobody has its secret: esim-webhooks api endpoints list shows it. Delete it then, and create it again.",
    { cause: error.cause },
  );
}

const pointer = "The reason is in error.problemDetails.";

/** What happened, and what the service says about it. */
function halvesOf({ problem, remedy, problemDetails }: ApiError): {
  readonly problem: string;
  readonly remedy: string;
} {
  const said =
    problemDetails?.detail === undefined ? "" : `The service says: ${maskText(problemDetails.detail)}`;
  const what = remedy === pointer ? "" : remedy;
  return {
    problem: problem.replace(/^./, (letter) => letter.toUpperCase()),
    remedy: [said, what].filter((part) => part !== "").join(" "),
  };
}
