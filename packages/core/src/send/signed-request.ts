import { randomBytes, randomUUID } from "node:crypto";
import { WebhookError } from "../base/errors.ts";
import { suggest } from "../base/options.ts";
import { sign } from "../verify/signature.ts";

const faults = [
  "tampered",
  "stale",
  "future",
  "wrong_key",
  "rotated",
  "duplicate",
  "unknown_type",
  "invalid",
] as const;

/**
 * A fault or a special form of a delivery:
 * - `tampered`: a byte of the body was changed after signing: 401
 * - `stale`: signed ten minutes ago: 503, and nothing runs
 * - `future`: signed ten minutes ahead: 503, and nothing runs
 * - `wrong_key`: signed with a secret that the receiver does not have: 401
 * - `rotated`: signed twice, with a secret that the receiver does not have and with the one it has: accepted
 * - `duplicate`: always has the same webhook-id and, with the same type and data, the same body; the second one is a duplicate
 * - `unknown_type`: has an event type that no catalog has: acknowledged; only the handler of a family or of `"*"` runs
 * - `invalid`: has no `data`, which every event must have: 500, or 202 from an inbox
 * @useDeclaredType
 */
export type Fault = (typeof faults)[number];

/** A signed delivery, in the form that `fetch(url, request)` takes. */
export interface SignedRequest {
  /** Always `POST`. */
  readonly method: "POST";
  /** The content type, and the three headers of the signature. */
  readonly headers: Readonly<Record<string, string>>;
  /** The JSON text that was signed. Send it unchanged. */
  readonly body: string;
}

/** Options of `signedRequest`. */
export interface SignedRequestOptions {
  /** The receiver's secret. */
  readonly secret: string | Uint8Array;
  /** When the delivery is signed. Default now. */
  readonly at?: Date;
  /** The fault of the delivery. Default: nothing. */
  readonly fault?: Fault;
}

/** An event to be sent. Fields that are left out are made up. */
export interface EventToSend {
  /** Default: a new one. With the fault `duplicate`, always the same. */
  readonly id?: string;
  /** The event type, such as `"esim.faulted"`. */
  readonly type: string;
  /** Default: the option `at`, or now; with the fault `duplicate`, always the same. */
  readonly timestamp?: string;
  /** The fields of the event, as plain JSON. `sampleData` makes valid ones. */
  readonly data: unknown;
}

const tenMinutesMs = 10 * 60 * 1000;
const sameTimestamp = "2026-11-20T12:00:00.000Z"; // a duplicate has the same body, or it would be a conflict

/** Makes a signing secret of 32 random bytes. */
export function newSecret(): string {
  return `whsec_${randomBytes(32).toString("base64")}`;
}

/**
 * Signs a delivery as the sender does, for tests: `fetch(url, signedRequest({ type, data }, { secret }))`.
 * Throws `invalid_secret`, or `invalid_input` for a fault that does not exist.
 */
export function signedRequest(event: EventToSend, options: SignedRequestOptions): SignedRequest {
  const { secret, fault, at = new Date() } = options;
  if (fault !== undefined && !faults.includes(fault)) {
    throw new WebhookError(
      "invalid_input",
      `There is no fault "${String(fault)}".`,
      suggest(String(fault), faults),
    );
  }
  const id = fault === "duplicate" ? "msg_duplicate" : (event.id ?? `msg_${randomUUID()}`);
  const timestamp = new Date(
    at.getTime() + (fault === "stale" ? -tenMinutesMs : fault === "future" ? tenMinutesMs : 0),
  );
  const body = JSON.stringify({
    type: fault === "unknown_type" ? "esim.unheard_of" : event.type,
    timestamp: event.timestamp ?? (fault === "duplicate" ? sameTimestamp : at.toISOString()),
    ...(fault === "invalid" ? {} : { data: event.data }),
  });
  const signed = sign({ id, body, timestamp }, fault === "wrong_key" ? newSecret() : secret);
  const other =
    fault === "rotated" ? `${sign({ id, body, timestamp }, newSecret())["webhook-signature"]} ` : "";
  return {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...signed,
      "webhook-signature": other + signed["webhook-signature"],
    },
    body: fault === "tampered" ? body.replace('"type"', '"typo"') : body,
  };
}
