import { WebhookError } from "../base/errors.ts";
import { type HeaderSource, headerReader } from "./headers.ts";
import { listSecrets, type Secrets } from "./keyring.ts";
import {
  bodyBytes,
  defaultToleranceSeconds,
  type Proof,
  prove,
  type Refusal,
  readSignedHeaders,
  type SignedHeaders,
} from "./signature.ts";
import { createSigningKey, keyOfBytes, type SigningKey } from "./signing-key.ts";

/** One likely cause, with its evidence. */
export interface Finding {
  readonly code:
    | "missing_header"
    | "renamed_header"
    | "malformed_header"
    | "clock_skew"
    | "invalid_secret"
    | "key_outside_window"
    | "secret_misread"
    | "body_reserialised"
    | "wrong_secret_or_body";
  /** What is wrong, and how to mend it. Holds no secret and nothing of the body. */
  readonly message: string;
}

export interface Explanation {
  /** What `verify` says. */
  readonly verdict: Proof | Refusal;
  /** The likely causes, the surest first. Empty when the delivery verifies. */
  readonly findings: readonly Finding[];
}

type Delivery = { headers: HeaderSource; body: Uint8Array | string };

/**
 * Explains to developers why a delivery does not verify: which check failed, and the likely cause with its evidence.
 * Slower than `verify`. For logs and tools only: never put an explanation into an answer.
 * Throws `invalid_input` when the delivery or the time is malformed, and `invalid_secret` when `secrets` has the wrong type.
 * @param secrets as for `verify`; a secret that cannot be right becomes a finding and is not thrown
 * @param options as for `verify`
 */
export function explainVerification(
  delivery: Delivery,
  secrets: Secrets,
  options: { at?: Date; toleranceSeconds?: number } = {},
): Explanation {
  const { at = new Date(), toleranceSeconds = defaultToleranceSeconds } = options;
  if (Number.isNaN(at.getTime())) {
    throw new WebhookError(
      "invalid_input",
      "The option at is not a valid Date.",
      "Pass the time at which the delivery was received.",
    );
  }
  const body = bodyBytes(delivery.body);
  const { keys, findings: badSecrets } = readSecrets(secrets);
  const valid = keys.filter((key) => key.validAt(at.getTime()));

  const header = headerReader(delivery.headers);
  const inTime = readSignedHeaders(header, at.getTime(), toleranceSeconds);
  const signed = readSignedHeaders(header, at.getTime(), Number.POSITIVE_INFINITY);
  if (!signed.ok) {
    return { verdict: inTime.ok ? signed : inTime, findings: headerFindings(delivery.headers, signed) };
  }
  const proof = prove(signed, body, valid);
  if (inTime.ok && proof.ok) return { verdict: proof, findings: [] };
  return {
    verdict: inTime.ok ? proof : inTime,
    findings: [
      ...(inTime.ok ? [] : [clockFinding(inTime.reason, proof.ok)]),
      ...(proof.ok ? [] : [...badSecrets, keyOrBodyFinding(signed, body, keys, secrets)]),
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

/** Names that senders and proxies give to the signature headers. An x-request-id is not one of them. */
const vendorHeader =
  /^(?:x[-_])?(?:http[-_])?(?:webhook|svix|standard)s?[-_](?:webhook[-_])?(?:id|timestamp|signature)$/;

function headerFindings(headers: HeaderSource, refusal: Refusal): Finding[] {
  if (refusal.code !== "missing_header") {
    const remedy = "Check what the proxies in between do to headers.";
    return [{ code: "malformed_header", message: `${sentence(refusal.reason)} ${remedy}` }];
  }
  const header = headerReader(headers);
  const names = headerNames(headers);
  return ["webhook-id", "webhook-timestamp", "webhook-signature"].flatMap((name): Finding[] => {
    if (header(name)) return [];
    const suffix = name.slice("webhook-".length);
    const renamed = names.find(
      (other) => other !== name && vendorHeader.test(other) && other.endsWith(suffix),
    );
    return renamed === undefined
      ? [{ code: "missing_header", message: `${name} is missing. Let the proxies in between pass it on.` }]
      : [
          {
            code: "renamed_header",
            message: `${name} is missing, but there is "${renamed}". Keep the header's original name.`,
          },
        ];
  });
}

function clockFinding(reason: string, authentic: boolean): Finding {
  const cause = authentic
    ? "The signature itself is right: set this machine's clock (NTP), or verify a captured request at the time it was received."
    : "The signature is wrong too.";
  return { code: "clock_skew", message: `${sentence(`it was ${reason}`)} ${cause}` };
}

/** Finds out why no key made the signature over these bytes, by trying the usual mistakes. */
function keyOrBodyFinding(
  signed: SignedHeaders,
  body: Uint8Array,
  keys: readonly SigningKey[],
  secrets: Secrets,
): Finding {
  const outside = prove(signed, body, keys);
  if (outside.ok) {
    const message = `${outside.key} made the signature, but is outside its window. Correct its notBefore or notAfter.`;
    return { code: "key_outside_window", message };
  }
  for (const [reading, misread] of misreadings(secrets)) {
    if (!prove(signed, body, [misread]).ok) continue;
    const message = `The signature was made with the secret read as ${reading}. Give the same bytes as whsec_ and base64.`;
    return { code: "secret_misread", message };
  }
  for (const [form, bytes] of reserialised(body)) {
    if (!prove(signed, bytes, keys).ok) continue;
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

function* misreadings(secrets: Secrets): Generator<[string, SigningKey]> {
  for (const given of listSecrets(secrets)) {
    const secret: unknown = typeof given === "string" ? given : given?.secret;
    if (typeof secret !== "string") continue;
    const bare = secret.replace(/^whsec_/, "");
    yield ["text", keyOfBytes(Buffer.from(secret))];
    yield ["text without its prefix", keyOfBytes(Buffer.from(bare))];
    if (/^[0-9a-f]+$/i.test(bare)) yield ["hex", keyOfBytes(Buffer.from(bare, "hex"))];
    yield ["base64", keyOfBytes(Buffer.from(bare, "base64"))];
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
