/** The body of an answer: JSON, or the shape of what came instead. */
export type Body =
  | { readonly kind: "json"; readonly value: unknown }
  | { readonly kind: "empty" }
  /** `shape` says what it is, and quotes nothing of it. */
  | { readonly kind: "unreadable"; readonly shape: string };

const maxBytes = 64 * 1024 * 1024;

/** Reads a body to its end. Rejects when the connection ends before that. */
export async function readBody(response: Response): Promise<Body> {
  const bytes = await readBytes(response);
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

async function readBytes({ body }: Response): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    length += chunk.byteLength;
    if (length > maxBytes) return undefined; // leaving the loop cancels the rest
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function shapeOf(text: string, { headers }: Response): string {
  const type = headers.get("content-type") ?? "";
  if (/^\s*<(?:!doctype|html)/i.test(text) || /html/i.test(type)) return "an HTML page";
  if (/^\s*[{[]/.test(text)) return "JSON that was cut short or is damaged";
  return "no JSON";
}
