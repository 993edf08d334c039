import { WebhookError } from "../base/errors.ts";
import {
  type HeaderSource,
  headerReader,
  readSignedHeaders,
  type SignedHeaders,
  sentOnce,
  timestampPattern,
} from "./headers.ts";
import { keyringOf, listSecrets, type Secrets } from "./keyring.ts";
import type { HeaderRefusal, Refusal, SkewRefusal } from "./refusal.ts";
import {
  bodyBytes,
  type Proof,
  prove,
  readVerifyOptions,
  signerOf,
  type VerifyOptions,
} from "./signature.ts";
import { createSigningKey, type Key, keyOfBytes, type SigningKey } from "./signing-key.ts";
import { finerUnit, refuseBySkew, type Tolerance } from "./tolerance.ts";

/** A likely cause, with its evidence. */
export interface Finding {
  /** The kind of cause. Stable, for programs. */
  readonly code:
    | "missing_header"
    | "renamed_header"
    | "malformed_header"
    | "hex_signature"
    | "timestamp_not_in_seconds"
    | "clock_skew"
    | "invalid_secret"
    | "key_outside_window"
    | "secret_misread"
    | "body_reserialised"
    | "wrong_secret_or_body";
  /** The cause, and how to fix it. Holds no secret and nothing of the body. */
  readonly message: string;
}

/** Why a delivery does not verify. */
export interface Explanation {
  /** The result of `verify`. */
  readonly verdict: Proof | Refusal;
  /** The likely causes, the surest first. Empty when the delivery verifies. */
  readonly findings: readonly Finding[];
}

/**
 * Explains to developers why a delivery does not verify: which check failed, and the likely cause with its evidence.
 * Slower than `verify`. For logs and tools only: never put an explanation into an answer.
 * Throws `invalid_input` for a delivery of other types, `invalid_option`, and `invalid_secret` when `secrets` has the
 * wrong type.
 * @param delivery as for `verify`
 * @param delivery.headers the headers of the request
 * @param delivery.body the raw body; a string stands for its UTF-8 bytes
 * @param secrets as for `verify`; a secret that cannot be right becomes a finding and is not thrown
 * @param options as for `verify`
 */
export function explainVerification(
  delivery: { headers: HeaderSource; body: Uint8Array | string },
  secrets: Secrets,
  options?: VerifyOptions,
): Explanation {
  const { atMs, tolerance } = readVerifyOptions(options);
  const body = bodyBytes(delivery.body);
  const { keys, findings: badSecrets } = readSecrets(secrets);
  const received = readSignedHeaders(headerReader(delivery.headers));
  if (!received.ok) return { verdict: received, findings: headerFindings(delivery.headers, received) };
  const signed = sentOnce(received) ?? received;

  const proof = prove(
    received,
    body,
    keyringOf(() => keys),
    atMs,
  );
  if (!proof.ok && proof.code === "unusable_header") {
    return { verdict: proof, findings: [malformed(proof.reason)] };
  }
  const timestamp = Number(signed.timestamp);
  const isReadable = timestampPattern.test(signed.timestamp);
  const skewed = isReadable ? refuseBySkew(timestamp, atMs, tolerance) : undefined;
  const isAuthentic = proof.ok || proof.code === "key_not_yet_valid";
  return {
    verdict: (proof.ok && skewed) || proof,
    findings: [
      ...(proof.ok ? [] : oddHeaders(signed)),
      ...(proof.ok ? [] : keyOrBodyFindings(badSecrets, keyOrBodyFinding(signed, body, keys, secrets))),
      ...(skewed ? [timeFinding(skewed, timestamp, atMs, tolerance, isAuthentic)] : []),
    ],
  };
}

function readSecrets(secrets: Secrets): { keys: SigningKey[]; findings: Finding[] } {
  const keys: SigningKey[] = [];
  const findings: Finding[] = [];
  for (const secret of listSecrets(secrets)) {
    try {
      keys.push(createSigningKey(secret));
    } catch (error) {
      if (!WebhookError.is(error)) throw error;
      findings.push({ code: "invalid_secret", message: error.message });
    }
  }
  return { keys, findings };
}

const checkProxies = "Check what the proxies in between do to headers";

function malformed(reason: string): Finding {
  return { code: "malformed_header", message: sentence(reason) };
}

/** Returns findings about unusual signed headers of a delivery that does not verify. */
function oddHeaders({ id, timestamp }: SignedHeaders): Finding[] {
  const isOdd = id === "" || id.includes(", ");
  return [
    ...(isOdd ? [malformed(`webhook-id is empty, or is there more than once. ${checkProxies}`)] : []),
    ...(timestampPattern.test(timestamp)
      ? []
      : [malformed(`webhook-timestamp is not decimal digits. ${checkProxies}`)]),
  ];
}

/** Names that senders and proxies give to the signature headers. An x-request-id is not one of them. */
const vendorHeader =
  /^(?:x[-_])?(?:http[-_])?(?:webhook|svix|standard)s?[-_](?:webhook[-_])?(?:id|timestamp|signature)$/;

/** A SHA-256 in hex, bare, or after the version or a name such as `sha256=`. */
const hexSignature = /^(?:v1,|\w+=)?[0-9a-f]{64}$/i;

const hexFinding: Finding = {
  code: "hex_signature",
  message:
    "The webhook-signature is in hex. The partner API writes v1, and base64: this request is from another sender, or something rewrote the header.",
};

function headerFindings(headers: HeaderSource, refusal: HeaderRefusal): Finding[] {
  if (refusal.code !== "missing_header") {
    if (hexSignature.test(headerReader(headers)("webhook-signature") ?? "")) return [hexFinding];
    return [malformed(`${refusal.reason}. ${checkProxies}`)];
  }
  const names = headerNames(headers);
  return refusal.headers.map((name): Finding => {
    const suffix = name.slice("webhook-".length);
    const renamed = names.find(
      (other) => other !== name && vendorHeader.test(other) && other.endsWith(suffix),
    );
    return renamed === undefined
      ? { code: "missing_header", message: `${name} is missing. Let the proxies in between pass it on.` }
      : {
          code: "renamed_header",
          message: `${name} is missing, but there is "${renamed}". Keep the header's original name.`,
        };
  });
}

function timeFinding(
  { reason }: SkewRefusal,
  timestamp: number,
  atMs: number,
  tolerance: Tolerance,
  isAuthentic: boolean,
): Finding {
  const unit = finerUnit(timestamp);
  if (unit === undefined) {
    const cause = isAuthentic
      ? "The signature itself is right: set this machine's clock (NTP), or verify a captured request at the time it was received."
      : "The signature is wrong too.";
    return { code: "clock_skew", message: `${sentence(`it was ${reason}`)} ${cause}` };
  }
  const skewed = refuseBySkew(Math.floor(timestamp / unit.perSecond), atMs, tolerance);
  const clock = skewed === undefined ? "is right" : `is not right either: it was ${skewed.reason}`;
  const remedy = "Let the sender sign with Unix seconds.";
  return {
    code: "timestamp_not_in_seconds",
    message: `${sentence(reason)} Read as ${unit.name}, it ${clock}. ${remedy}`,
  };
}

/** Returns only the cause if the secret was misread. Otherwise, findings about secrets that cannot be right come before the cause. */
function keyOrBodyFindings(badSecrets: readonly Finding[], cause: Finding): readonly Finding[] {
  return cause.code === "secret_misread" ? [cause] : [...badSecrets, cause];
}

/** Tries the usual causes of a signature that does not verify: a key outside its window, a misread secret, a rewritten body. */
function keyOrBodyFinding(
  signed: SignedHeaders,
  body: Uint8Array,
  keys: readonly SigningKey[],
  secrets: Secrets,
): Finding {
  const outside = signerOf(signed, body, keys);
  if (outside !== undefined) {
    const message = `${outside.key} made the signature, but is outside its window. Correct its notBefore or notAfter.`;
    return { code: "key_outside_window", message };
  }
  for (const [reading, form, misread] of misreadings(secrets)) {
    if (signerOf(signed, body, [misread]) === undefined) continue;
    const message = `The signature was made with the secret read as ${reading}. Write ${form}.`;
    return { code: "secret_misread", message };
  }
  for (const [form, bytes] of reserialised(body)) {
    if (signerOf(signed, bytes, keys) === undefined) continue;
    const message = `The signature is that of ${form}. Verify the raw bytes, before anything parses or rewrites them.`;
    return { code: "body_reserialised", message };
  }
  const known = keys.length > 0 ? keys.join(", ") : "no usable key";
  return {
    code: "wrong_secret_or_body",
    message:
      `None of the keys (${known}) made the signature over these ${body.byteLength} bytes. ` +
      "Compare the secret with this endpoint's signingSecret, and make sure that nothing changes the body.",
  };
}

/** Yields other readings of each secret's text: the name of the reading, how to write the secret for it, and the key that it gives. */
function* misreadings(secrets: Secrets): Generator<[string, string, SigningKey]> {
  for (const given of listSecrets(secrets)) {
    const secret: unknown = typeof given === "string" ? given : (given as Partial<Key> | null)?.secret;
    if (typeof secret !== "string") continue;
    const [, form, bare = ""] = /^(whsec_|hex:|base64:|utf8:|)(.*)$/s.exec(secret) ?? [];
    const instead = form === "" ? "before it" : `in place of ${form}`;
    yield ["text", "utf8: before it", keyOfBytes(Buffer.from(secret))];
    yield ["text without its prefix", `utf8: ${instead}`, keyOfBytes(Buffer.from(bare))];
    if (/^[0-9a-f]+$/i.test(bare)) yield ["hex", `hex: ${instead}`, keyOfBytes(Buffer.from(bare, "hex"))];
    yield ["base64", `base64: ${instead}`, keyOfBytes(Buffer.from(bare, "base64"))];
  }
}

function* reserialised(body: Uint8Array): Generator<[string, Uint8Array]> {
  const text = Buffer.from(body).toString();
  yield ["this body without the white space around it", Buffer.from(text.trim())];
  yield ["this body followed by a line feed", Buffer.from(`${text}\n`)];
  try {
    const json: unknown = JSON.parse(text);
    yield ["this body's compacted JSON", Buffer.from(JSON.stringify(json))];
    yield ["this body's JSON, indented by two spaces", Buffer.from(JSON.stringify(json, null, 2))];
  } catch {
    // not JSON, or nested too deeply to be written again
  }
}

function headerNames(headers: HeaderSource): string[] {
  const names = headers instanceof Headers ? [...headers.keys()] : Object.keys(headers);
  return names.map((name) => name.toLowerCase());
}

function sentence(reason: string): string {
  return `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`;
}
