import { isUint8Array } from "node:util/types";
import { byteBuffer } from "../base/byte-buffer.ts";
import type { EsimEvents } from "../event/esim-events.ts";
import type { BodyReader } from "./body.ts";
import { type ReceiverOptions, receiverWith } from "./receiver.ts";
import type { Target } from "./target.ts";
import { createLateVerifier, keysOf } from "./verifier.ts";

/** A handler of fetch requests, for Next.js, Hono, Bun and Deno. */
export interface WebhookHandler {
  (request: Request): Promise<Response>;
  /** For a check at start-up: rejects with `missing_secret` while there is no secret. */
  ready(): Promise<void>;
  /** Answers 503 from now on. Resolves when all accepted deliveries have ended. */
  close(): Promise<void>;
}

/**
 * Makes a receiver of fetch requests: `export const POST = webhookHandler(handlers)`.
 *
 * It can be made without a secret, because a framework's build loads the module where the server's secrets are not set.
 * Deliveries are then answered 503 until there is one, and the first logs what to set. Throws like `createReceiver` otherwise.
 */
export function webhookHandler<Data = EsimEvents, Tx = unknown>(
  target: Target<Data, Tx>,
  options: ReceiverOptions<Data, Tx> = {},
): WebhookHandler {
  const receiver = receiverWith<Data, Tx>(createLateVerifier, target, options);
  const handle = async (request: Request): Promise<Response> => {
    const { status, headers, body } = await receiver.receive({
      method: request.method,
      headers: request.headers,
      body: fetchBody(request),
    });
    return new Response(body, { status, headers });
  };
  const ready = async () => void keysOf(options);
  return Object.assign(handle, { ready, close: receiver.close });
}

function fetchBody(request: Request): BodyReader {
  return async (limitBytes, signal) => {
    if (request.bodyUsed || request.body?.locked) return { code: "body_consumed", hint: consumedHint };
    if (request.body === null) return new Uint8Array();
    const reader = request.body.getReader();
    const cancel = () => void reader.cancel().catch(() => {});
    signal.addEventListener("abort", cancel);
    const buffer = byteBuffer(limitBytes);
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (signal.aborted) return { code: "body_incomplete" };
        if (done) return buffer.bytes();
        if (!isUint8Array(value)) return { code: "body_consumed", hint: consumedHint };
        if (buffer.add(value)) continue;
        cancel();
        return { code: "too_large" };
      }
    } catch {
      return { code: "body_incomplete" };
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  };
}

const consumedHint =
  "The request's body was read before the webhook receiver, and the signature covers the raw bytes. " +
  "Call the receiver before request.json() or request.text(), or pass it request.clone().";
