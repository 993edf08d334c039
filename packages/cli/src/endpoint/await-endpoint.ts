import { setTimeout as pause } from "node:timers/promises";
import { type ApiClient, ApiError, type WebhookEndpoint } from "@esim-webhooks/client";
import { explained } from "../api/explained.ts";
import { describeError } from "../program/error-text.ts";
import type { Output } from "../program/output.ts";
import { theEndpoint } from "./the-endpoint.ts";

/** `theEndpoint` for a command that goes on until it is stopped: while the API is away, it is asked again every `everyMs`. */
export async function awaitEndpoint(
  api: ApiClient,
  reference: string | undefined,
  everyMs: number,
  output: Output,
): Promise<WebhookEndpoint> {
  for (let isFailing = false; ; isFailing = true) {
    try {
      return await theEndpoint(api, reference);
    } catch (error) {
      if (!(error instanceof ApiError && error.retryable)) throw error;
      if (!isFailing)
        output.note(`${describeError(explained(error))} The API is asked again until it answers.`);
    }
    await pause(everyMs);
  }
}
