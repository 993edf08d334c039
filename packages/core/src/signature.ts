import { timingSafeEqual } from "node:crypto";
import { type HeaderSource, headerReader } from "./delivery.ts";
import { WebhookError } from "./errors.ts";
import { createKeyring, type Keyring, type Secrets } from "./keyring.ts";
import { createSigningKey, type SigningKey } from "./signing-key.ts";

/** The three headers of a signed delivery (Standard Webhooks v1). */
export type SignatureHeaders = Readonly<
  Record<"webhook-id" | "webhook-timestamp" | "webhook-signature", string>
>;

/** What the headers of a delivery claim, well-formed and within the tolerance but not yet proven. */
export interface Claimed {
  readonly ok: true;
  readonly id: string;
  /** Unix seconds as received: digits, signed as they stand. */
  readonly timestamp: string;
  /** The v1 signatures, base64. */
  readonly signatures: readonly string[];
}

/** An authentic delivery: its id, when it was signed, and the fingerprint of the key that matched. */
export interface Proof {
  readonly ok: true;
  readonly id: string;
  /** Unix seconds. */
  readonly timestamp: number;
  readonly key: string;
}

/** Why a delivery is not authentic. A value: forged deliveries are expected, not exceptional. */
export interface Refusal {
  readonly ok: false;
  readonly code: "missing_header" | "malformed_header" | "timestamp_out_of_tolerance" | "no_matching_key";
  /** What exactly is wrong, without the values themselves. For logs, never for answers. */
  readonly reason: string;
}

export const defaultToleranceSeconds = 300;

const maxSignatures = 64;
const maxSignatureHeader = 4096;
const v1Signature = /^v1,[A-Za-z0-9+/]{43}=$/;

/**
 * Signs a delivery as the sender does (Standard Webhooks v1): for tests, tools and relays.
 * @param timestamp defaults to now; sent as whole Unix seconds
 */
export function sign(
  delivery: { id: string; body: string | Uint8Array; timestamp?: Date },
  secret: string,
): SignatureHeaders {
  const seconds = String(Math.floor((delivery.timestamp?.getTime() ?? Date.now()) / 1000));
  const mac = createSigningKey(secret).mac(`${delivery.id}.${seconds}.`, bodyBytes(delivery.body));
  return { "webhook-id": delivery.id, "webhook-timestamp": seconds, "webhook-signature": `v1,${mac}` };
}

/**
 * Verifies a delivery over its raw bytes: the headers' grammar, the timestamp's tolerance, then HMAC-SHA256
 * over `id.timestamp.body` with every key that counts, in constant time (Standard Webhooks v1).
 * @param secret as for the receiver; pass a keyring made once by `createKeyring` where speed matters
 * @param options.at when the delivery was received (default now): captured and queued deliveries are verified against that
 * @param options.toleranceSeconds how far the timestamp may be from `at`, either way (default 300)
 */
export function verify(
  delivery: { headers: HeaderSource; body: Uint8Array | string },
  secret: Secrets | Keyring,
  options: { at?: Date; toleranceSeconds?: number } = {},
): Proof | Refusal {
  const keyring = isKeyring(secret) ? secret : createKeyring(secret);
  const atMs = options.at?.getTime() ?? Date.now();
  const claimed = readClaim(delivery.headers, atMs, options.toleranceSeconds ?? defaultToleranceSeconds);
  return claimed.ok ? prove(claimed, bodyBytes(delivery.body), keyring.keysAt(atMs)) : claimed;
}

/** Reads the signature headers, by a strict grammar and before anything is hashed. */
export function readClaim(headers: HeaderSource, atMs: number, toleranceSeconds: number): Claimed | Refusal {
  const header = headerReader(headers);
  const id = header("webhook-id");
  const timestamp = header("webhook-timestamp");
  const signature = header("webhook-signature");
  if (!id || !timestamp || !signature) {
    const name = id ? (timestamp ? "webhook-signature" : "webhook-timestamp") : "webhook-id";
    const repeated = header(name) === null;
    return refuse(
      repeated ? "malformed_header" : "missing_header",
      `${name} is ${repeated ? "repeated" : "missing or empty"}`,
    );
  }
  const fault = grammarFault(id, timestamp, signature);
  if (fault !== undefined) return refuse("malformed_header", fault);
  const skewSeconds = Number(timestamp) - Math.floor(atMs / 1000);
  if (!(Math.abs(skewSeconds) <= toleranceSeconds)) {
    const side = skewSeconds < 0 ? "before" : "after";
    return refuse(
      "timestamp_out_of_tolerance",
      `signed ${Math.abs(skewSeconds)} s ${side} this machine's time`,
    );
  }
  const signatures = signature.split(" ").filter((one) => v1Signature.test(one));
  return { ok: true, id, timestamp, signatures: signatures.map((one) => one.slice(3)) };
}

function grammarFault(id: string, timestamp: string, signature: string): string | undefined {
  // visible ASCII without the comma, which would be a repeated header
  if (!/^[!-+\--~]{1,512}$/.test(id)) return "webhook-id is not 1 to 512 visible ASCII characters";
  if (!/^\d{1,16}$/.test(timestamp)) return "webhook-timestamp is not decimal digits";
  if (signature.length > maxSignatureHeader) return "webhook-signature is too long";
  const all = signature.split(" ");
  if (all.length > maxSignatures) return "webhook-signature has too many signatures";
  return all.some((one) => v1Signature.test(one)) ? undefined : "webhook-signature has no v1 signature in it";
}

/** Looks for a key that made one of the claimed signatures over these bytes. */
export function prove(claimed: Claimed, body: Uint8Array, keys: readonly SigningKey[]): Proof | Refusal {
  const prefix = `${claimed.id}.${claimed.timestamp}.`;
  for (const key of keys) {
    const expected = Buffer.from(key.mac(prefix, body), "latin1");
    if (claimed.signatures.some((signature) => timingSafeEqual(Buffer.from(signature, "latin1"), expected))) {
      return { ok: true, id: claimed.id, timestamp: Number(claimed.timestamp), key: key.fingerprint };
    }
  }
  return refuse("no_matching_key", `none of ${keys.length} keys made the signature over these bytes`);
}

function isKeyring(secret: Secrets | Keyring): secret is Keyring {
  return typeof secret === "object" && "keysAt" in secret;
}

function refuse(code: Refusal["code"], reason: string): Refusal {
  return { ok: false, code, reason };
}

/** Throws `invalid_input`, saying what it got, for anything but a string or bytes. */
export function bodyBytes(body: Uint8Array | string): Uint8Array {
  if (body instanceof Uint8Array) return body;
  if (typeof body === "string") return Buffer.from(body, "utf8");
  throw new WebhookError(
    "invalid_input",
    `A body must be a string or a Uint8Array; got ${body === null ? "null" : `a ${typeof body}`}.`,
    "Pass the raw bytes as received: a parsed body has other bytes than the signed ones.",
  );
}
