import { bareError } from "../base/bare-error.ts";
import type { ClientClock } from "../base/client-clock.ts";
import type { OwnSecrets } from "../base/own-secrets.ts";
import { startTimeout, unlessAborted } from "../base/timeout.ts";
import type { Operation } from "./operation.ts";

/** The result of one request. */
export type Attempt = Answered | Lost;

export interface Answered {
  readonly kind: "answered";
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

/** No complete answer came. The service may have done what was asked. */
export interface Lost {
  readonly kind: "lost";
  readonly code: "unreachable" | "connection_lost" | "timed_out";
  /** The error of the transport, without the bytes that it may have kept. */
  readonly cause: Error;
}

/** As much of `fetch` as the client calls. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface AttemptParts {
  readonly fetch: Fetch;
  readonly clock: ClientClock;
  /** The longest time for one attempt, in ms. */
  readonly attemptTimeoutMs: number;
  /** Hidden in the bodies of answers, except those of status 2xx, and in errors. */
  readonly secrets: OwnSecrets;
}

/**
 * Sends a request once and reads the whole answer. Rejects with the signal's reason only, and then immediately, even if `fetch`
 * ignores its signal. Redirects are not followed: the token must not go elsewhere.
 */
export async function sendOnce(
  { fetch, clock, attemptTimeoutMs, secrets }: AttemptParts,
  { method, url, headers, body }: Operation,
  authorization: string | undefined,
  signal: AbortSignal,
): Promise<Attempt> {
  signal.throwIfAborted();
  const timeout = startTimeout(clock, attemptTimeoutMs, signal);
  let code: Lost["code"] = "unreachable";
  try {
    const sent = fetch(url, {
      method,
      body: body ?? null,
      headers: authorization === undefined ? headers : { ...headers, authorization },
      redirect: "manual",
      signal: timeout.signal,
    });
    const response = await unlessAborted(sent, timeout.signal).catch((error: unknown) => {
      sent.then(cancelBody).catch(() => {}); // an answer that comes too late
      throw error;
    });
    code = "connection_lost";
    const received = await readBody(response, timeout.signal);
    return {
      kind: "answered",
      status: response.status,
      headers: response.headers,
      body: response.ok ? received : withoutSecrets(received, secrets),
    };
  } catch (cause) {
    signal.throwIfAborted();
    const bare = bareError(cause, secrets.hide);
    if (isBroken(bare)) code = "connection_lost";
    return { kind: "lost", code: timeout.isOver ? "timed_out" : code, cause: bare };
  } finally {
    timeout.clear();
  }
}

/** Whether the error shows that there was a connection: it ended too soon, or the answer is no HTTP that Node.js accepts. */
function isBroken({ code, cause }: Error & { readonly code?: unknown }): boolean {
  if (/^(?:HPE_|UND_ERR_(?:SOCKET|HEADERS_OVERFLOW|RES_)|ECONNRESET|EPIPE)/.test(String(code))) return true;
  return cause instanceof Error && isBroken(cause);
}

function withoutSecrets(body: Body, { hideIn }: OwnSecrets): Body {
  return body.kind === "json" ? { kind: "json", value: hideIn(body.value) } : body;
}

async function cancelBody({ body }: Response): Promise<void> {
  await body?.cancel();
}

/** The body of an answer: JSON, or the shape of what came instead. */
export type Body =
  | { readonly kind: "json"; readonly value: unknown }
  | { readonly kind: "empty" }
  /** `shape` says what it is, and quotes nothing of it. */
  | { readonly kind: "unreadable"; readonly shape: string };

const maxBytes = 64 * 1024 * 1024;

/** Reads a body to its end. Rejects when the connection ends before that, and once the signal aborts. */
async function readBody(response: Response, signal: AbortSignal): Promise<Body> {
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
