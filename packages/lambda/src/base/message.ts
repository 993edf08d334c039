import type { InboxEntry } from "@esim-webhooks/core";
import { decodeEntry, encodeEntry } from "@esim-webhooks/core/engine";

/** An entry as the text of a message. */
export function encodeMessage(entry: InboxEntry): string {
  // SQS refuses these two characters, which JSON does not escape
  return JSON.stringify(encodeEntry(entry)).replaceAll("\ufffe", "\\ufffe").replaceAll("\uffff", "\\uffff");
}

/** Restores an entry. Throws `invalid_input` for a text that `encodeMessage` did not make. */
export function decodeMessage(text: string): InboxEntry {
  return decodeEntry(parsed(text));
}

/** Parses a text. Undefined if it is not JSON: the error of the parser would quote the text. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
