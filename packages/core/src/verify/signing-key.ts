import { createHash, createHmac, createSecretKey, hash } from "node:crypto";
import { inspect } from "node:util";
import { dateTimeMs } from "../base/clock.ts";
import { WebhookError } from "../base/errors.ts";
import { decodeSecret } from "./secret.ts";

/** A secret and the window in which it is valid. A missing bound leaves that side open. */
export interface Key {
  /** Text, `whsec_…` or with its form before it (`hex:…`, `base64:…`, `utf8:…`), or the key's bytes. */
  readonly secret: string | Uint8Array;
  /** Valid from this time on: a `Date`, or a date-time with its offset. */
  readonly notBefore?: Date | string | null | undefined;
  /** Valid until this time, exclusive: a `Date`, or a date-time with its offset. */
  readonly notAfter?: Date | string | null | undefined;
}

/** Returns the base64 HMAC-SHA256 of `prefix` (latin1: a character for each byte) followed by `body`. */
export type Hmac = (prefix: string, body: Uint8Array) => string;

/** A key, ready for use. Prints as its fingerprint in every form; the secret cannot be read back. */
export interface SigningKey {
  /** `key:` and the first 8 hex digits of SHA-256 over the key bytes. Safe to log. */
  readonly fingerprint: string;
  /** Whether the key is valid at this time, in ms since the Unix epoch. */
  validAt(atMs: number): boolean;
  /** Whether the key's window begins after this time. */
  beginsAfter(atMs: number): boolean;
  /** Returns the base64 HMAC-SHA256 of a prefix (latin1) followed by a body. */
  readonly mac: Hmac;
}

/** Makes a key of a secret. Throws `invalid_secret` for a secret or a window that cannot be right. */
export function createSigningKey(given: string | Uint8Array | Key): SigningKey {
  const { secret, notBefore, notAfter } = isKey(given) ? given : ({ secret: given } as Key);
  const from = boundMs("notBefore", notBefore, Number.NEGATIVE_INFINITY);
  const until = boundMs("notAfter", notAfter, Number.POSITIVE_INFINITY);
  if (from >= until) {
    throw new WebhookError(
      "invalid_secret",
      "A key's window ends before it begins.",
      "Put notBefore before notAfter.",
    );
  }
  return keyOfBytes(decodeSecret(secret), from, until);
}

/** Makes a key from bytes of any length. */
export function keyOfBytes(
  bytes: Uint8Array,
  fromMs: number = Number.NEGATIVE_INFINITY,
  untilMs: number = Number.POSITIVE_INFINITY,
): SigningKey {
  const fingerprint = `key:${createHash("sha256").update(bytes).digest("hex").slice(0, 8)}`;
  const print = () => fingerprint;
  return Object.freeze({
    fingerprint,
    beginsAfter: (atMs: number) => fromMs > atMs,
    validAt: (atMs: number) => fromMs <= atMs && atMs < untilMs,
    mac: hmacSha256(bytes),
    toString: print,
    toJSON: print,
    [inspect.custom]: print,
  });
}

function isKey(given: unknown): given is Key {
  return typeof given === "object" && given !== null && "secret" in given;
}

function boundMs(name: string, given: Date | string | null | undefined, none: number): number {
  if (given === undefined || given === null) return none;
  const ms = dateTimeMs(given);
  if (!Number.isNaN(ms)) return ms;
  throw new WebhookError(
    "invalid_secret",
    `A key's ${name} is not a date-time.`,
    "Give a Date, or a string with its offset, such as 2026-11-20T12:00:00Z.",
  );
}

const blockBytes = 64;
const digestBytes = 32;
const shortBytes = 4096;

/**
 * Makes the HMAC-SHA256 (RFC 2104) of a key. For short bodies, as most deliveries have, two one-shot hashes take half the time of a
 * `createHmac` object. Longer bodies go through `createHmac`, which does not copy them.
 */
export function hmacSha256(anyKey: Uint8Array): Hmac {
  const key = anyKey.byteLength > blockBytes ? hash("sha256", anyKey, "buffer") : anyKey;
  const prepared = createSecretKey(key);
  // reused: each use begins and ends within one call
  const inner = padded(key, 0x36, 1024 + shortBytes);
  const outer = padded(key, 0x5c, digestBytes);
  return (prefix, body) => {
    const bodyStart = blockBytes + prefix.length;
    const end = bodyStart + body.byteLength;
    if (end > inner.byteLength) {
      return createHmac("sha256", prepared).update(prefix, "latin1").update(body).digest("base64");
    }
    inner.write(prefix, blockBytes, "latin1");
    inner.set(body, bodyStart);
    outer.write(hash("sha256", inner.subarray(0, end), "binary"), blockBytes, "latin1");
    return hash("sha256", outer, "base64");
  };
}

/** Returns a buffer with the key, zero-padded to one block and XORed with `value`, and with `room` bytes after it for the caller. */
function padded(key: Uint8Array, value: number, room: number): Buffer {
  const buffer = Buffer.alloc(blockBytes + room, value);
  for (const [index, byte] of key.entries()) buffer[index] = byte ^ value;
  return buffer;
}
