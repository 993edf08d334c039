import { WebhookError } from "../base/errors.ts";
import type { HeaderRefusal, SignatureHeaders } from "./refusal.ts";

/** Headers of Node.js, of fetch, or a plain object. Names may be in any case. */
export type HeaderSource =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** Reads one header: its value, undefined when it is missing, null when it is repeated. */
export type HeaderReader = (name: string) => string | undefined | null;

/**
 * Makes a reader of headers by their lower-case names.
 * Throws `invalid_input`, naming the type that it got, for anything but a `HeaderSource`.
 */
export function headerReader(headers: HeaderSource): HeaderReader {
  if (typeof headers !== "object" || headers === null || Array.isArray(headers)) {
    const got = headers === null ? "null" : Array.isArray(headers) ? "an array" : `a ${typeof headers}`;
    throw new WebhookError(
      "invalid_input",
      `Headers must be an object or fetch Headers; got ${got}.`,
      "Pass req.headers (Node.js) or request.headers (fetch).",
    );
  }
  if (typeof headers.get === "function") {
    const get = headers.get.bind(headers) as (name: string) => string | null;
    return (name) => once(get(name) ?? undefined);
  }
  const record = headers as Readonly<Record<string, string | readonly string[] | undefined>>;
  return (name) => {
    const value = Object.hasOwn(record, name) ? record[name] : undefined;
    if (value !== undefined) return once(value);
    const key = Object.keys(record).find((candidate) => candidate.toLowerCase() === name);
    return key === undefined ? undefined : once(record[key]);
  };
}

// Node.js and fetch both join a repeated header with ", "
function once(value: string | readonly string[] | undefined): string | undefined | null {
  const single: unknown = Array.isArray(value) && value.length <= 1 ? value[0] : value;
  if (single === undefined) return undefined;
  if (Array.isArray(single)) return null;
  if (typeof single === "string") return single.includes(", ") ? null : single;
  throw new WebhookError(
    "invalid_input",
    `A header value must be a string; got a ${typeof single}.`,
    "Pass the headers as they were received.",
  );
}

/** The signature headers of a delivery: well-formed, but not yet proven. */
export interface SignedHeaders {
  readonly ok: true;
  readonly id: string;
  /** Unix seconds as received: digits, signed as they stand. */
  readonly timestamp: string;
  /** The v1 signatures, base64. */
  readonly signatures: readonly string[];
}

const maxSignatures = 64;
const maxSignatureHeader = 4096;
/** A webhook-id: as much visible ASCII as an index of every store holds. */
export const idPattern: RegExp = /^[!-~]{1,1024}$/;
export const timestampPattern: RegExp = /^\d{1,16}$/;
const v1Signature = /^v1,[A-Za-z0-9+/]{43}=$/;

/** Reads the signature headers, by a strict grammar and before anything is hashed. */
export function readSignedHeaders(header: HeaderReader): SignedHeaders | HeaderRefusal {
  const id = header("webhook-id");
  const timestamp = header("webhook-timestamp");
  const signature = header("webhook-signature");
  if (!id || !timestamp || !signature) return missingOrRepeated(header);
  if (!idPattern.test(id)) return malformed("webhook-id", "is not 1 to 1,024 visible ASCII characters");
  if (!timestampPattern.test(timestamp)) return malformed("webhook-timestamp", "is not decimal digits");
  if (signature.length > maxSignatureHeader) return malformed("webhook-signature", "is too long");
  const list = signature.split(" ");
  if (list.length > maxSignatures) return malformed("webhook-signature", "has too many signatures");
  const signatures = list.filter((one) => v1Signature.test(one)).map((one) => one.slice("v1,".length));
  if (signatures.length === 0) return malformed("webhook-signature", "has no v1 signature in it");
  return { ok: true, id, timestamp, signatures };
}

/** The names of the headers of a signed delivery. */
export const signatureHeaders = ["webhook-id", "webhook-timestamp", "webhook-signature"] as const;

function missingOrRepeated(header: HeaderReader): HeaderRefusal {
  const missing = signatureHeaders.filter((name) => header(name) === undefined || header(name) === "");
  const [code, headers, what] =
    missing.length > 0
      ? (["missing_header", missing, "missing or empty"] as const)
      : (["malformed_header", signatureHeaders.filter((name) => header(name) === null), "repeated"] as const);
  const reason = `${headers.join(", ")} ${headers.length > 1 ? "are" : "is"} ${what}`;
  return { ok: false, code, headers, reason };
}

function malformed(name: keyof SignatureHeaders, problem: string): HeaderRefusal {
  return { ok: false, code: "malformed_header", headers: [name], reason: `${name} ${problem}` };
}
