import { WebhookError } from "@esim-webhooks/core";
import { listenTo } from "@esim-webhooks/core/kit";
import { type CallMessage, callStage } from "./http/call-message.ts";

/**
 * Watches every call of the partner API in this process, token exchanges included (`auth.token`), once each has ended. A
 * listener that throws or rejects changes nothing else: the first such error becomes a Node.js process warning.
 *
 * Throws `invalid_option` if the listener is not a function. Returns a function that stops watching.
 */
export function observeCalls(listener: (message: CallMessage) => void): () => void {
  if (typeof listener === "function") return listenTo("call", callStage.ended, listener);
  throw new WebhookError(
    "invalid_option",
    `expected a function, not ${listener === null ? "null" : typeof listener}.`,
    "Pass a function that takes a CallMessage.",
    { where: "observeCalls" },
  );
}
