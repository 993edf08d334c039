import { type ApiClient, ApiError, type WebhookEndpoint } from "@esim-webhooks/client";
import { explainedCall } from "../program/explained.ts";
import type { Output } from "../program/output.ts";
import { theEndpoint } from "./the-endpoint.ts";
import { tryAgain } from "./try-again.ts";

/** `theEndpoint` for a command that goes on until it is stopped: while the API is away, it is asked again every `everyMs`. */
export function awaitEndpoint(
  api: ApiClient,
  reference: string | undefined,
  everyMs: number,
  output: Output,
): Promise<WebhookEndpoint> {
  return tryAgain(() => theEndpoint(api, reference), {
    everyMs,
    output,
    asAway: (error) => (error instanceof ApiError && error.retryable ? explainedCall(error) : undefined),
    next: "The API is asked again until it answers.",
  });
}
