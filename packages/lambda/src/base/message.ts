import type { InboxEntry } from "@esim-webhooks/core";
import { decodeEntry, encodeEntry } from "@esim-webhooks/core/engine";

/** An entry as the text of a message, without the parsed event: the handler of the message parses the body, with its own catalog. */
export function encodeMessage(entry: InboxEntry): string {
  const { event: _parsedLater, ...message } = encodeEntry(entry);
  // SQS refuses these two characters, which JSON does not escape
  return JSON.stringify(message).replaceAll("\ufffe", "\\ufffe").replaceAll("\uffff", "\\uffff");
}

/** Restores an entry, without its event. Throws `invalid_input` for a text that `encodeMessage` did not make. */
export function decodeMessage(text: string): InboxEntry {
  const json = parsed(text);
  return decodeEntry(typeof json === "object" && json !== null ? { ...json, event: null } : json);
}

/** Parses a text. Undefined if it is not JSON: the error of the parser would quote the text. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
