import { timingSafeEqual } from "node:crypto";
import { isUint8Array } from "node:util/types";
import { WebhookError } from "../base/errors.ts";
import { type HeaderReader, type HeaderSource, headerReader } from "./headers.ts";
import { createKeyring, type Keyring, type Secrets } from "./keyring.ts";
import { createSigningKey, type SigningKey } from "./signing-key.ts";

/** The three headers of a signed delivery (Standard Webhooks v1). */
export type SignatureHeaders = Readonly<
  Record<"webhook-id" | "webhook-timestamp" | "webhook-signature", string>
>;

/** The signature headers of a delivery: well-formed and within the tolerance, but not yet proven. */
export interface SignedHeaders {
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
/** A webhook-id: visible ASCII without the comma, which would mean a repeated header. */
export const idPattern: RegExp = /^[!-+\--~]{1,512}$/;
const timestampPattern = /^\d{1,16}$/;
const v1Signature = /^v1,[A-Za-z0-9+/]{43}=$/;

/**
 * Signs a delivery as the sender does (Standard Webhooks v1): for tests, tools and relays.
 * Throws `invalid_input` for an id or a timestamp that no receiver would take, and `invalid_secret`.
 * @param delivery.timestamp defaults to now; sent as whole Unix seconds
 */
export function sign(
  delivery: { id: string; body: string | Uint8Array; timestamp?: Date },
  secret: string,
): SignatureHeaders {
  const seconds = String(Math.floor((delivery.timestamp?.getTime() ?? Date.now()) / 1000));
  if (!idPattern.test(delivery.id) || !timestampPattern.test(seconds)) {
    throw new WebhookError(
      "invalid_input",
      "A delivery cannot be signed with this id or timestamp.",
      "An id has 1 to 512 visible ASCII characters and no comma; a timestamp is a valid Date from 1970 on.",
    );
  }
  const mac = createSigningKey(secret).mac(`${delivery.id}.${seconds}.`, bodyBytes(delivery.body));
  return { "webhook-id": delivery.id, "webhook-timestamp": seconds, "webhook-signature": `v1,${mac}` };
}

/**
 * Verifies a delivery over its raw bytes: the headers' grammar, the timestamp's tolerance, then HMAC-SHA256
 * over `id.timestamp.body` with every key that counts, in constant time (Standard Webhooks v1).
 * @param secret as for the receiver; pass a keyring made once by `createKeyring` where speed matters
 * @param options.at when the delivery was received (default now): verify captured and queued deliveries at that time
 * @param options.toleranceSeconds how far the timestamp may be from `at`, either way (default 300)
 */
export function verify(
  delivery: { headers: HeaderSource; body: Uint8Array | string },
  secret: Secrets | Keyring,
  options: { at?: Date; toleranceSeconds?: number } = {},
): Proof | Refusal {
  const keyring = isKeyring(secret) ? secret : createKeyring(secret);
  const atMs = options.at?.getTime() ?? Date.now();
  const signed = readSignedHeaders(
    headerReader(delivery.headers),
    atMs,
    options.toleranceSeconds ?? defaultToleranceSeconds,
  );
  return signed.ok ? prove(signed, bodyBytes(delivery.body), keyring.keysAt(atMs)) : signed;
}

/** Reads the signature headers, by a strict grammar and before anything is hashed. */
export function readSignedHeaders(
  header: HeaderReader,
  atMs: number,
  toleranceSeconds: number,
): SignedHeaders | Refusal {
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
  if (!idPattern.test(id)) return malformed("webhook-id is not 1 to 512 visible ASCII characters");
  if (!timestampPattern.test(timestamp)) return malformed("webhook-timestamp is not decimal digits");
  const skewSeconds = Number(timestamp) - Math.floor(atMs / 1000);
  if (!(Math.abs(skewSeconds) <= toleranceSeconds)) {
    const side = skewSeconds < 0 ? "before" : "after";
    return refuse(
      "timestamp_out_of_tolerance",
      `signed ${Math.abs(skewSeconds)} s ${side} this machine's time`,
    );
  }
  if (signature.length > maxSignatureHeader) return malformed("webhook-signature is too long");
  const list = signature.split(" ");
  if (list.length > maxSignatures) return malformed("webhook-signature has too many signatures");
  const signatures = list.filter((one) => v1Signature.test(one)).map((one) => one.slice("v1,".length));
  if (signatures.length === 0) return malformed("webhook-signature has no v1 signature in it");
  return { ok: true, id, timestamp, signatures };
}

// shared: each use begins and ends within one call
const expected = Buffer.alloc(44);
const given = Buffer.alloc(44);

/** Looks for a key that made one of the signed signatures over these bytes. */
export function prove(signed: SignedHeaders, body: Uint8Array, keys: readonly SigningKey[]): Proof | Refusal {
  const prefix = `${signed.id}.${signed.timestamp}.`;
  for (const key of keys) {
    // a caller's own keyring may return a short MAC: bytes of the last comparison must not take part in this one
    if (expected.write(key.mac(prefix, body), "latin1") !== expected.byteLength) continue;
    for (const signature of signed.signatures) {
      given.write(signature, "latin1");
      if (!timingSafeEqual(given, expected)) continue;
      return { ok: true, id: signed.id, timestamp: Number(signed.timestamp), key: key.fingerprint };
    }
  }
  return refuse(
    "no_matching_key",
    `none of the keys (${keys.join(", ")}) made the signature over these bytes; explainVerification looks for the cause`,
  );
}

function isKeyring(secret: Secrets | Keyring): secret is Keyring {
  return typeof secret === "object" && secret !== null && "keysAt" in secret;
}

function malformed(reason: string): Refusal {
  return refuse("malformed_header", reason);
}

function refuse(code: Refusal["code"], reason: string): Refusal {
  return { ok: false, code, reason };
}

/** Throws `invalid_input`, saying what it got, for anything but a string or bytes. */
export function bodyBytes(body: Uint8Array | string): Uint8Array {
  if (isUint8Array(body)) return body;
  if (typeof body === "string") return Buffer.from(body, "utf8");
  throw new WebhookError(
    "invalid_input",
    `A body must be a string or a Uint8Array; got ${nameOf(body)}.`,
    "Pass the raw bytes as received: a parsed body has other bytes than the signed ones.",
  );
}

function nameOf(value: unknown): string {
  const name = typeof value === "object" && value !== null ? value.constructor?.name : undefined;
  return name ?? String(value === null ? value : typeof value);
}
