import { isObject } from "./fields.ts";

/** What a captured body may have been. */
export interface CapturedBody {
  readonly bytes: readonly [Uint8Array, ...Uint8Array[]];
  /** It was captured as parsed JSON. */
  readonly isGuess: boolean;
}

// no spaces at its end: with two parts that may take them, a regular expression tries all ways to share them
const base64 = /^[A-Za-z0-9+/_\s-]+={0,2}$/;

/** The bytes of a body, or what they may be; undefined where it is none. */
export function bodyBytes(body: unknown, isBase64: boolean): CapturedBody | undefined {
  if (typeof body === "string") {
    const decoded = () => Buffer.from(body, "base64");
    if (isBase64) return { bytes: [decoded()], isGuess: false };
    const text = Buffer.from(body, "utf8");
    return { bytes: base64.test(body.trimEnd()) ? [text, decoded()] : [text], isGuess: false };
  }
  const list = listOf(body);
  if (list?.every(isByte)) return { bytes: [Buffer.from(list)], isGuess: false };
  if (!isObject(body)) return undefined;
  return { bytes: [Buffer.from(JSON.stringify(body), "utf8")], isGuess: true };
}

/** The numbers of a list, of what JSON makes of a Buffer, or of what it makes of a Uint8Array. */
function listOf(body: unknown): readonly unknown[] | undefined {
  if (Array.isArray(body)) return body;
  if (!isObject(body)) return undefined;
  if (body["type"] === "Buffer" && Array.isArray(body["data"])) return body["data"];
  if (!Object.hasOwn(body, "0")) return undefined;
  return Object.keys(body).every((key, index) => key === String(index)) ? Object.values(body) : undefined;
}

function isByte(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 255;
}
