import { timingSafeEqual } from "node:crypto";
import { isUint8Array } from "node:util/types";
import { WebhookError } from "../base/errors.ts";
import { idPattern, isStorableId } from "../event/event.ts";
import {
  type HeaderSource,
  headerReader,
  headerText,
  readSignedHeaders,
  type SignedHeaders,
  sentOnce,
  signedForms,
  timestampPattern,
} from "./headers.ts";
import { createKeyring, type Keyring, type Secrets } from "./keyring.ts";
import type { Refusal, SignatureHeaders, UnusableRefusal } from "./refusal.ts";
import { createSigningKey, type SigningKey } from "./signing-key.ts";
import {
  refuseBySkew,
  type Tolerance,
  type ToleranceSeconds,
  toleranceForm,
  toleranceOf,
} from "./tolerance.ts";

/** An authentic delivery: its id, when it was signed, and the fingerprint of the key that matched. */
export interface Proof {
  /** True. In a `Refusal`, it is false. */
  readonly ok: true;
  /** The webhook-id. */
  readonly id: string;
  /** Unix seconds. */
  readonly timestamp: number;
  /** The fingerprint of the key that matched, such as `key:1a2b3c4d`. */
  readonly key: string;
}

/** Options of `verify`. */
export interface VerifyOptions {
  /** When the delivery was received. Default now. Verify captured and queued deliveries at the time they arrived. */
  readonly at?: Date | undefined;
  /** How far the timestamp may be from `at`, in seconds: a number, or `{ past, future }`. Default 300. */
  readonly toleranceSeconds?: ToleranceSeconds | undefined;
}

/**
 * Signs a delivery as the sender does (Standard Webhooks v1): for tests, tools and relays.
 * Throws `invalid_input` for an id that not every HTTP client sends as it is, a timestamp that no receiver accepts, or a body of another type,
 * and `invalid_secret`.
 * @param delivery what is sent
 * @param delivery.id the webhook-id
 * @param delivery.body the raw body; a string stands for its UTF-8 bytes
 * @param delivery.timestamp defaults to now; sent as whole Unix seconds
 * @param secret a secret; or a key of a keyring made once by `createKeyring`, where speed matters
 */
export function sign(
  delivery: { id: string; body: string | Uint8Array; timestamp?: Date },
  secret: string | Uint8Array | SigningKey,
): SignatureHeaders {
  const seconds = String(Math.floor((delivery.timestamp?.getTime() ?? Date.now()) / 1000));
  if (!idPattern.test(delivery.id) || !timestampPattern.test(seconds)) {
    throw new WebhookError(
      "invalid_input",
      "A delivery cannot be signed with this id or timestamp.",
      "An id has 1 to 1,024 visible ASCII characters; a timestamp is a valid Date from 1970 on.",
    );
  }
  const key = typeof secret === "object" && "mac" in secret ? secret : createSigningKey(secret);
  const mac = key.mac(`${delivery.id}.${seconds}.`, bodyBytes(delivery.body));
  return { "webhook-id": delivery.id, "webhook-timestamp": seconds, "webhook-signature": `v1,${mac}` };
}

/**
 * Verifies a delivery over its raw bytes (Standard Webhooks v1): HMAC-SHA256 over `id.timestamp.body` with every valid key, compared in
 * constant time, then the form of the id and the timestamp, then the timestamp's tolerance. So the refusals
 * `key_not_yet_valid`, `unusable_header` and `timestamp_out_of_tolerance` are those of authentic deliveries.
 * Throws `invalid_input` for a delivery of other types, `invalid_option`, and as `createKeyring` does.
 * @param delivery the request as it arrived
 * @param delivery.headers the headers of the request
 * @param delivery.body the raw body; a string stands for its UTF-8 bytes
 * @param secret as for the receiver; pass a keyring made once by `createKeyring` where speed matters
 * @param options the time and the tolerance
 */
export function verify(
  delivery: { headers: HeaderSource; body: Uint8Array | string },
  secret: Secrets | Keyring,
  options?: VerifyOptions,
): Proof | Refusal {
  const keyring = isKeyring(secret) ? secret : createKeyring(secret);
  const { atMs, tolerance } = readVerifyOptions(options);
  const signed = readSignedHeaders(headerReader(delivery.headers));
  if (!signed.ok) return signed;
  const proof = prove(signed, bodyBytes(delivery.body), keyring, atMs);
  return (proof.ok && refuseBySkew(proof.timestamp, atMs, tolerance)) || proof;
}

const noOptions: VerifyOptions = {};

/** Checks the options of `verify`, without a schema, which would take longer than the signature. Throws `invalid_option`. */
export function readVerifyOptions(options: VerifyOptions = noOptions): {
  readonly atMs: number;
  readonly tolerance: Tolerance;
} {
  if (typeof options !== "object" || options === null) {
    throw invalidInput("the options are not an object", "Pass them by name: { at, toleranceSeconds }.");
  }
  for (const name in options) {
    if (name === "at" || name === "toleranceSeconds") continue;
    throw invalidInput(`there is no option "${name}"`, "There are: at, toleranceSeconds.");
  }
  const { at } = options;
  const atMs = at === undefined ? Date.now() : at instanceof Date ? at.getTime() : Number.NaN;
  if (Number.isNaN(atMs)) {
    throw invalidInput('"at" is not a valid Date', "Pass the time at which the delivery was received.");
  }
  const tolerance = toleranceOf(options.toleranceSeconds);
  if (tolerance === undefined) {
    throw invalidInput(`"toleranceSeconds": ${toleranceForm}`, "Leave it out for 300.");
  }
  return { atMs, tolerance };
}

function invalidInput(problem: string, remedy: string): WebhookError {
  return new WebhookError("invalid_option", `${problem}.`, remedy, { where: "verify" });
}

/**
 * Looks for a key that made the signature over these bytes: among the valid keys, those that are yet to be valid, and those that have ended.
 * If there is none and the id or the timestamp was sent twice, looks for one that signed it as sent once.
 */
export function prove(
  signed: SignedHeaders,
  body: Uint8Array,
  keyring: Keyring,
  atMs: number,
): Proof | Refusal {
  const proof = proveAsSent(signed, body, keyring, atMs);
  if (proof.ok || proof.code !== "no_matching_key") return proof;
  const once = sentOnce(signed);
  const second = once && proveAsSent(once, body, keyring, atMs);
  return second?.ok || (second && second.code !== "no_matching_key") ? second : proof;
}

function proveAsSent(
  signed: SignedHeaders,
  body: Uint8Array,
  keyring: Keyring,
  atMs: number,
): Proof | Refusal {
  const valid = keyring.keysAt(atMs);
  const signer = signerOf(signed, body, valid);
  if (signer !== undefined) return proofOf(signer, signed);
  const early = signerOf(signed, body, keyring.keysAfter(atMs))?.key;
  if (early !== undefined) {
    const reason = `${early} made the signature, and its notBefore is still ahead; deliveries wait for it`;
    return { ok: false, code: "key_not_yet_valid", key: early.fingerprint, reason };
  }
  const ended = signerOf(signed, body, keyring.keysBefore?.(atMs) ?? [])?.key;
  if (ended !== undefined) {
    const reason = `${ended} made the signature, and its notAfter has passed`;
    return { ok: false, code: "no_matching_key", endedKey: ended.fingerprint, reason };
  }
  const reason =
    valid.length === 0
      ? "there is no usable key now"
      : `none of the keys (${valid.join(", ")}) made the signature over these bytes`;
  return { ok: false, code: "no_matching_key", reason };
}

/** A key, and the bytes of the id and the timestamp that it has signed, a character for each byte. */
interface Signer {
  readonly key: SigningKey;
  readonly prefix: string;
}

/**
 * Takes the id from the signed bytes, not from the header: otherwise a captured delivery could be sent with other headers for the same bytes,
 * under another id.
 */
function proofOf({ key: { fingerprint }, prefix }: Signer, signed: SignedHeaders): Proof | UnusableRefusal {
  const { timestamp } = signed;
  if (!timestampPattern.test(timestamp)) {
    return unusable("webhook-timestamp", "is not in Unix seconds, as digits", fingerprint);
  }
  // a slice of the prefix would keep all of it in memory
  const isPlain = idPattern.test(signed.id);
  const id = isPlain ? signed.id : headerText(prefix.slice(0, -`.${timestamp}.`.length));
  if (!isPlain && !isStorableId(id)) {
    return unusable("webhook-id", "is not 1 to 1,024 bytes of text, so no store can hold it", fingerprint);
  }
  return { ok: true, id, timestamp: Number(timestamp), key: fingerprint };
}

function unusable(name: keyof SignatureHeaders, problem: string, key: string): UnusableRefusal {
  const reason = `${name} ${problem}, and the delivery is authentic: report it to the provider`;
  return { ok: false, code: "unusable_header", headers: [name], key, reason };
}

// shared: each use begins and ends within one call
const expected = Buffer.alloc(44);
const given = Buffer.alloc(44);

/** Finds the key that made one of the signatures over these bytes. */
export function signerOf(
  signed: SignedHeaders,
  body: Uint8Array,
  keys: readonly SigningKey[],
): Signer | undefined {
  for (const prefix of signedForms(`${signed.id}.${signed.timestamp}.`)) {
    for (const key of keys) {
      // a caller's own keyring may return a short MAC: bytes of the last comparison must not take part in this one
      if (expected.write(key.mac(prefix, body), "latin1") !== expected.byteLength) continue;
      for (const signature of signed.signatures) {
        given.write(signature, "latin1");
        if (timingSafeEqual(given, expected)) return { key, prefix };
      }
    }
  }
  return undefined;
}

function isKeyring(secret: Secrets | Keyring): secret is Keyring {
  return typeof secret === "object" && secret !== null && "keysAt" in secret;
}

/** Returns a body as bytes. Throws `invalid_input`, whose message names the type that it got, for anything but a string or bytes. */
export function bodyBytes(body: Uint8Array | string): Uint8Array {
  if (isUint8Array(body)) return body;
  if (typeof body === "string") return Buffer.from(body, "utf8");
  throw new WebhookError("invalid_input", ...notRaw(body));
}

/** The problem of a body that is neither bytes nor text, and its remedy. */
export function notRaw(body: unknown): [problem: string, remedy: string] {
  return [
    `A body must be a string or a Uint8Array; got ${nameOf(body)}.`,
    "Pass the raw bytes as received: a parsed body has other bytes than the signed ones.",
  ];
}

function nameOf(value: unknown): string {
  const name = typeof value === "object" && value !== null ? value.constructor?.name : undefined;
  return name ?? String(value === null ? value : typeof value);
}
