import type { ApiClient, WebhookDelivery, WebhookEndpoint } from "@esim-webhooks/client";
import { sign } from "@esim-webhooks/core";
import { idPattern } from "@esim-webhooks/core/internal";
import type { SignedRequest } from "@esim-webhooks/core/testing";
import type { CliContext } from "../program/context.ts";
import type { ListenFlags } from "./flags.ts";

/** The parts that the command needs from its start to its end. */
export interface Session {
  readonly context: CliContext;
  readonly flags: ListenFlags;
  readonly api: ApiClient;
  /** The endpoint whose events are posted. */
  readonly endpoint: WebhookEndpoint;
  /** The URL to which the events are posted. */
  readonly url: string;
  /** Resolves to the secret to sign with now. */
  readonly secret: () => Promise<string | Uint8Array>;
}

/** The event of a delivery, as the sender would send it now. Undefined if the listing shows no body, or no id that can be sent. */
export function signedDelivery(
  { eventId: id, payload }: WebhookDelivery,
  secret: string | Uint8Array,
): SignedRequest | undefined {
  if (payload === null || id === null || !idPattern.test(id)) return undefined;
  const body = JSON.stringify(payload);
  return {
    method: "POST",
    headers: { "content-type": "application/json", ...sign({ id, body }, secret) },
    body,
  };
}
