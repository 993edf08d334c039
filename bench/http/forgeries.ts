// Deliveries that anybody can send, without a secret.
import { newSecret } from "@esim-webhooks/core/testing";
import type { Request } from "../load.ts";
import { standardWebhook } from "./deliveries.ts";

/** Returns a delivery of each kind. `secret` is the receiver's: some are changed or repeated authentic ones. */
export function forgeries(secret: string): Request[] {
  const { body, headers } = standardWebhook(secret, 300);
  const forged = (bytes = 300) => standardWebhook(newSecret(), bytes);
  const forgedWith = (changed: Readonly<Record<string, string>>): Request => {
    const { headers, body } = forged();
    return { headers: { ...headers, ...changed }, body };
  };
  const signature = headers["webhook-signature"] ?? "";
  const sixtySignatures = Array.from({ length: 60 }, () => forged().headers["webhook-signature"]).join(" ");
  return [
    { headers: { "content-type": "application/json" }, body }, // no signature
    forgedWith({ "webhook-signature": "v1,AAAA" }), // a malformed one
    forgedWith({ "webhook-id": "x".repeat(2_000) }), // an id that is too long
    forged(), // signed with another secret
    { headers, body: body.replace("esim.faulted", "esim.enabled") }, // changed after signing
    forgedWith({ "webhook-timestamp": "1" }), // old, and not signed so
    forgedWith({ "webhook-signature": sixtySignatures }),
    forgedWith({ "content-encoding": "gzip" }),
    { headers: { ...headers, "webhook-id": "msg_another" }, body }, // a signature of another id
    { headers: { ...headers, "webhook-signature": signature.replace("v1,", "v2,") }, body },
    forged(2_000),
    forged(20_000),
  ];
}
