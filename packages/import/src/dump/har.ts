import { createJsonScanner } from "./json-scanner.ts";
import type { DumpLimits, Recorder, Splitter } from "./record.ts";

/** A HAR file up to the value of its `log`. Logs of other kinds have other first members. */
const beginning = /^\s*\{\s*"log"\s*:\s*(?=\{\s*"(?:version|creator|browser|pages|entries|comment)"\s*:)/;

/** The number of characters before the value of `log`; undefined when the text is not a HAR file. */
export function harStart(text: string): number | undefined {
  return /"(?:creator|entries)"\s*:/.test(text) ? beginning.exec(text)?.[0].length : undefined;
}

/**
 * Reads the entries of a HAR file (HAR 1.2), as browsers and proxies save it. A POST with a `webhook-…` header and a body becomes
 * a captured request; any other entry is a fault.
 * @param start the offset of the value of `log`
 */
export function createHarReader(records: Recorder, limits: DumpLimits, start: number): Splitter {
  const entries: Recorder = {
    ...records,
    value(entry, offset, line) {
      const request = requestOf(entry as HarEntry);
      if (typeof request !== "string") records.value(request, offset, line);
      else records.fault("not_a_record", request, { offset, line, text: JSON.stringify(entry) });
    },
  };
  return createJsonScanner(entries, limits, start, undefined, "entries");
}

/** An entry, not checked yet. */
interface HarEntry {
  readonly startedDateTime?: unknown;
  readonly request?: {
    readonly method?: unknown;
    readonly headers?: unknown;
    readonly postData?: { readonly text?: unknown; readonly encoding?: unknown } | null;
  } | null;
}

function requestOf({ startedDateTime: receivedAt, request }: HarEntry): object | string {
  const { method, headers, postData } = request ?? {};
  const isWebhook = Array.isArray(headers) && headers.some(isWebhookHeader);
  if (method !== "POST" || !isWebhook) return "a HAR entry that is not a POST with webhook-… headers";
  if (typeof postData?.text !== "string")
    return "a HAR entry without the body in postData.text: save the HAR with content";
  return { headers, body: postData.text, receivedAt, isBase64Encoded: postData.encoding === "base64" };
}

function isWebhookHeader(header: unknown): boolean {
  const { name } = (header ?? {}) as { readonly name?: unknown };
  return typeof name === "string" && /^webhook-/i.test(name);
}
