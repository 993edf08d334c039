import { WebhookError } from "@esim-webhooks/core";
import { listenTo } from "@esim-webhooks/core/internal";
import { type ReconcileMessage, reconcileNotice } from "./reconcile/reconcile-notice.ts";

/**
 * Watches every pass of `reconcile` and of reconcilers in this process: its progress, at most ten times a second, and its end.
 * A listener that throws or rejects changes nothing else: the first such error becomes a Node.js process warning.
 *
 * Throws `invalid_option` if the listener is not a function. Returns a function that stops watching.
 */
export function observeReconciliations(listener: (message: ReconcileMessage) => void): () => void {
  if (typeof listener === "function") return listenTo("reconcile", reconcileNotice, listener);
  throw new WebhookError(
    "invalid_option",
    `expected a function, not ${listener === null ? "null" : typeof listener}.`,
    "Pass a function that takes a ReconcileMessage.",
    { where: "observeReconciliations" },
  );
}
