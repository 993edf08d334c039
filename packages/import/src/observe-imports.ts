import { WebhookError } from "@esim-webhooks/core";
import { listenTo } from "@esim-webhooks/core/kit";
import { type ImportMessage, importNotice } from "./replay/import-notice.ts";

/**
 * Watches every import and replay in this process: its progress, at most ten times a second, and its end. What they put
 * into an inbox and what their handlers do is seen by `observe` of core. A listener that throws or rejects changes nothing
 * else: the first such error becomes a Node.js process warning.
 *
 * Throws `invalid_option` if the listener is not a function. Returns a function that stops watching.
 */
export function observeImports(listener: (message: ImportMessage) => void): () => void {
  if (typeof listener === "function") return listenTo("import", importNotice, listener);
  throw new WebhookError(
    "invalid_option",
    `expected a function, not ${listener === null ? "null" : typeof listener}.`,
    "Pass a function that takes an ImportMessage.",
    { where: "observeImports" },
  );
}
