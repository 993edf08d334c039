import { isUtf8 } from "node:buffer";
import type { ByteSource } from "./byte-source.ts";
import { isGzip } from "./gzip.ts";
import { type JsonLayout, jsonLayout } from "./json-layout.ts";

/** A form of a dump, by its content. */
export type Form = "empty" | "gzip" | JsonLayout;

/** What bytes are: a form, or what they seem to be instead. */
export type Recognised = { readonly form: Form } | { readonly seems: string };

// holds some dozens of records, and the first line of most dumps
const headBytes = 64 * 1024;

/** Looks at the first bytes, and takes none of them but a byte order mark. */
export async function recognise(source: ByteSource): Promise<Recognised> {
  if (isGzip(await source.peek(2))) return { form: "gzip" };
  await skipByteOrderMark(source);
  const head = await source.peek(headBytes);
  const complete = head.byteLength < headBytes;
  const text = head.toString("latin1").trimStart();
  if (text === "") return { form: complete ? "empty" : "json" };
  if (text[0] === "{" || text[0] === "[") return { form: jsonLayout(head, complete) };
  if (isUtf8(head.subarray(0, -4)) && jsonLayout(head, complete) === "ndjson") return { form: "ndjson" };
  return { seems: "text that is neither JSON nor CSV" };
}

async function skipByteOrderMark(source: ByteSource): Promise<void> {
  const head = await source.peek(3);
  if (head.equals(Buffer.of(0xef, 0xbb, 0xbf))) await source.take(3);
}
