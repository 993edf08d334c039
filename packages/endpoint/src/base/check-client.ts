import type { ApiClient } from "@esim-webhooks/client";
import { WebhookError } from "@esim-webhooks/core";

/** Throws `invalid_option` if the first argument plainly is not a client with these operations. */
export function checkClient(caller: string, api: unknown, ...operations: (keyof ApiClient)[]): void {
  const client = (api ?? {}) as Partial<ApiClient>;
  if (operations.every((name) => typeof client[name] === "object")) return;
  throw new WebhookError(
    "invalid_option",
    "the first argument is not a client.",
    "Pass what createClient returns.",
    { where: caller },
  );
}
