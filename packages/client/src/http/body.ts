import { unlessAborted } from "../base/unless-aborted.ts";

/** The body of an answer: JSON, or the shape of what came instead. */
export type Body =
  | { readonly kind: "json"; readonly value: unknown }
  | { readonly kind: "empty" }
  /** `shape` says what it is, and quotes nothing of it. */
  | { readonly kind: "unreadable"; readonly shape: string };

const maxBytes = 64 * 1024 * 1024;

/** Reads a body to its end. Rejects when the connection ends before that, and once the signal aborts. */
export async function readBody(response: Response, signal: AbortSignal): Promise<Body> {
  const bytes = await readBytes(response, signal);
  if (bytes === undefined) return { kind: "unreadable", shape: "more than 64 MiB" };
  if (bytes.length === 0) return { kind: "empty" };
  const text = new TextDecoder().decode(bytes);
  try {
    return { kind: "json", value: JSON.parse(text) };
  } catch {
    // the message of JSON.parse would quote the body
    return { kind: "unreadable", shape: `${shapeOf(text, response)}, ${bytes.length} bytes` };
  }
}

async function readBytes({ body }: Response, signal: AbortSignal): Promise<Buffer | undefined> {
  const reader = body?.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    while (reader !== undefined) {
      const { done, value } = await unlessAborted(reader.read(), signal);
      if (done) break;
      length += value.byteLength;
      if (length > maxBytes) return undefined;
      chunks.push(value);
    }
    return Buffer.concat(chunks);
  } finally {
    reader?.cancel().catch(() => {}); // what was not read; at the end there is nothing to cancel
  }
}

function shapeOf(text: string, { headers }: Response): string {
  const type = headers.get("content-type") ?? "";
  if (/^\s*<(?:!doctype|html)/i.test(text) || /html/i.test(type)) return "an HTML page";
  if (/^\s*[{[]/.test(text)) return "JSON that was cut short or is damaged";
  return "no JSON";
}
