import { isObject } from "./fields.ts";

/** The possible bytes of a captured body. */
export interface CapturedBody {
  readonly bytes: readonly [Uint8Array, ...Uint8Array[]];
  /** Whether it was captured as parsed JSON, so that its bytes are a guess. */
  readonly isGuess: boolean;
}

// for text without trailing spaces: a second part that matches spaces would make backtracking quadratic
const base64 = /^[A-Za-z0-9+/_\s-]+={0,2}$/;

/** The possible bytes of a body, the likeliest first; undefined when it is not a body. */
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

/** The numbers in a list, in the JSON of a Buffer, or in the JSON of a Uint8Array. */
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
