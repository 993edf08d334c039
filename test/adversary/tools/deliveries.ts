import { newSecret, type SignedRequest } from "@esim-webhooks/core/testing";
import { signedDelivery } from "../../support/signed-delivery.ts";

/** The secret of every victim. */
export const secret: string = newSecret();
const otherSecret = newSecret();

/** The properties of an attack's delivery. `bytes` is the least size of its body; by default it is as small as the sender's. */
export interface DeliveryShape {
  readonly id?: string;
  readonly bytes?: number;
}

/** A delivery as the sender makes it. */
export const authentic = (shape: DeliveryShape = {}): SignedRequest => delivery(shape, secret);

/** A delivery that is right in everything but its signature. */
export const forged = (shape: DeliveryShape = {}): SignedRequest => delivery(shape, otherSecret);

/** The same request again and again, until the flood ends. */
export function* endless<Request>(request: Request): Generator<Request> {
  for (;;) yield request;
}

function delivery({ id, bytes = 0 }: DeliveryShape, signedWith: string): SignedRequest {
  const data = { padding: "x".repeat(bytes) };
  return signedDelivery(signedWith, { ...(id !== undefined && { id }), type: "esim.enabled", data });
}
