import { isUtf8 } from "node:buffer";
import { WebhookError } from "../base/errors.ts";
import type { HeaderRefusal } from "./refusal.ts";

/** Headers of Node.js, of fetch, or a plain object. Names may be in any case. */
export type HeaderSource =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** Reads one header: its value, undefined when it is missing. The values of a repeated header are joined. */
export type HeaderReader = (name: string) => string | undefined;

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
    return (name) => joined(get(name) ?? undefined);
  }
  const record = headers as Readonly<Record<string, string | readonly string[] | undefined>>;
  return (name) => {
    const value = Object.hasOwn(record, name) ? record[name] : undefined;
    if (value !== undefined) return joined(value);
    const key = Object.keys(record).find((candidate) => candidate.toLowerCase() === name);
    return key === undefined ? undefined : joined(record[key]);
  };
}

// as Node.js and fetch join a repeated header
function joined(value: string | readonly string[] | undefined): string | undefined {
  if (typeof value === "string" || value === undefined) return value;
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  const other = values.find((one) => typeof one !== "string");
  if (other === undefined) return values.length > 0 ? values.join(", ") : undefined;
  throw new WebhookError(
    "invalid_input",
    `A header value must be a string; got a ${typeof other}.`,
    "Pass the headers as they were received.",
  );
}

/** The signature headers of a delivery, not proven yet. Its id and its timestamp may have any form: the signature says whether they are the sender's. */
export interface SignedHeaders {
  readonly ok: true;
  /** As received. */
  readonly id: string;
  /** As received: it is signed in this form. */
  readonly timestamp: string;
  /** The v1 signatures, base64. */
  readonly signatures: readonly string[];
}

const oneSignature = /^v1,([A-Za-z0-9+/]{43}=)$/;
const separators = /[ \t,]+/;
const base64Mac = /^[A-Za-z0-9+/]{43}=$/;

/**
 * The v1 signatures in a list, in every form that a proxy makes of it: with blanks or tabs anywhere between its parts, empty members,
 * and repeated headers joined by commas. Linear in its length. A signature still has to match.
 */
function v1Signatures(list: string): readonly string[] {
  const one = oneSignature.exec(list)?.[1];
  if (one !== undefined) return [one];
  const parts = list.split(separators);
  return parts.filter((part, index) => parts[index - 1] === "v1" && base64Mac.test(part));
}

/** Reads the signature headers. Refuses only a delivery that no key could verify: a header is missing, or there is no v1 signature. */
export function readSignedHeaders(header: HeaderReader): SignedHeaders | HeaderRefusal {
  const id = header("webhook-id");
  const timestamp = header("webhook-timestamp");
  const signature = header("webhook-signature");
  if (id === undefined || timestamp === undefined || !signature) return missing(header);
  const signatures = v1Signatures(signature);
  if (signatures.length > 0) return { ok: true, id, timestamp, signatures };
  return {
    ok: false,
    code: "malformed_header",
    headers: ["webhook-signature"],
    reason: `webhook-signature has ${otherSignature(signature)}`,
  };
}

/** Describes the signature that cannot be read, without its value: it may be right in another form. */
function otherSignature(list: string): string {
  const parts = list.split(separators);
  const { length } = parts[parts.indexOf("v1") + 1] ?? "";
  if (!parts.includes("v1") || length === 0) return "no v1 signature in it";
  if (length === 44) return "a v1 signature that is not base64";
  return `a v1 signature of ${length} characters, and base64 of an HMAC-SHA256 has 44`;
}

/** The headers as if an id or a timestamp that was sent twice, and joined, had been sent once. Undefined if neither was sent twice. */
export function sentOnce(signed: SignedHeaders): SignedHeaders | undefined {
  const [id, timestamp] = [halfOf(signed.id), halfOf(signed.timestamp)];
  if (id === undefined && timestamp === undefined) return undefined;
  return { ...signed, id: id ?? signed.id, timestamp: timestamp ?? signed.timestamp };
}

function halfOf(text: string): string | undefined {
  for (const comma of [", ", ","]) {
    const half = text.slice(0, (text.length - comma.length) / 2);
    if (half !== "" && text === `${half}${comma}${half}`) return half;
  }
  return undefined;
}

/** The names of the headers of a signed delivery. */
export const signatureHeaders = ["webhook-id", "webhook-timestamp", "webhook-signature"] as const;

function missing(header: HeaderReader): HeaderRefusal {
  const headers = signatureHeaders.filter((name) => !header(name));
  const reason = `${headers.join(", ")} ${headers.length > 1 ? "are" : "is"} missing or empty`;
  return { ok: false, code: "missing_header", headers, reason };
}

export const timestampPattern: RegExp = /^\d{1,16}$/;
const notAscii = /[^ -~]/;
const moreThanAByte = /[\u0100-\uffff]/;

/** Returns the texts that may have been signed for a header, a character for each byte: its bytes as received, and its characters in UTF-8. */
export function signedForms(received: string): readonly string[] {
  if (!notAscii.test(received)) return [received];
  const inUtf8 = Buffer.from(received).toString("latin1");
  return moreThanAByte.test(received) || inUtf8 === received ? [inUtf8] : [received, inUtf8];
}

/** The text of a header, of which Node.js and fetch give a character for each byte: UTF-8, or else latin1. */
export function headerText(received: string): string {
  if (!notAscii.test(received) || moreThanAByte.test(received)) return received;
  const bytes = Buffer.from(received, "latin1");
  return isUtf8(bytes) ? bytes.toString() : received;
}
