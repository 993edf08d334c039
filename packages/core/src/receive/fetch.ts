import { isUint8Array } from "node:util/types";
import type { EsimEvents } from "../event/esim-events.ts";
import type { BodySink, BodyStream } from "./delivery.ts";
import { receiverWith } from "./receiver.ts";
import type { ReceiverOptions } from "./receiver-options.ts";
import type { Target } from "./target.ts";
import { createVerifierOnDemand } from "./verifier.ts";

/** A handler of fetch requests, for Next.js, Hono, Bun, Deno and Cloudflare Workers. */
export interface WebhookHandler {
  /**
   * `platform`: the other arguments that the platform passes. If one of them has `waitUntil`, as on Cloudflare Workers and Netlify, the work
   * of a delivery may end after its answer.
   */
  (request: Request, ...platform: readonly unknown[]): Promise<Response>;
  /**
   * Resolves while it can decide about deliveries, for `readinessHandler` and for a check at start-up. Rejects like `receiver.ready`: with
   * `missing_secret` while there is no secret.
   */
  ready(): Promise<void>;
  /** Answers 503 from now on. Resolves when all accepted deliveries have ended. */
  close(): Promise<void>;
}

/**
 * Makes a receiver of fetch requests: `export const POST = webhookHandler(handlers)`.
 *
 * It can be made without a secret, because a framework's build loads the module where the server's secrets are not set.
 * Deliveries are then answered 503 until there is a secret, and the first logs what to set. For the same reason, its store is not opened, and a key
 * source not loaded, before the first delivery: call `store.ready()` and `handler.ready()` at start-up to see mistakes in the set-up then.
 * Throws like `createReceiver` otherwise.
 */
export function webhookHandler<Data = EsimEvents, Tx = unknown>(
  target: Target<Data, Tx>,
  options: ReceiverOptions<Data, Tx> = {},
): WebhookHandler {
  const receiver = receiverWith<Data, Tx>(createVerifierOnDemand, target, options);
  const handle = async (request: Request, ...platform: readonly unknown[]): Promise<Response> => {
    const context = platform.find(canWait);
    const { status, headers, body } = await receiver.receive({
      method: request.method,
      headers: request.headers,
      ...(receiver.hasEndpoints && { path: new URL(request.url).pathname }),
      body: () => streamOf(request),
      waitUntil: context && ((work) => context.waitUntil(work)),
    });
    return new Response(body, { status, headers });
  };
  return Object.assign(handle, { ready: receiver.ready, close: receiver.close });
}

interface WaitingContext {
  waitUntil(work: Promise<unknown>): void;
}

function canWait(given: unknown): given is WaitingContext {
  return typeof (given as Partial<WaitingContext> | null | undefined)?.waitUntil === "function";
}

function streamOf(request: Request): BodyStream {
  return (sink) => {
    const { body } = request;
    if (request.bodyUsed || body?.locked) sink.consumed(consumedHint);
    else if (body === null) sink.end();
    else {
      const reader = body.getReader();
      void pump(reader, sink);
      return () => void reader.cancel().catch(() => {});
    }
    return () => {};
  };
}

async function pump(reader: ReadableStreamDefaultReader<unknown>, sink: BodySink): Promise<void> {
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return sink.end();
      if (!isUint8Array(value)) return sink.consumed(consumedHint);
      sink.add(value);
    }
  } catch {
    sink.abandon();
  }
}

const consumedHint =
  "The request's body was read before the webhook receiver, and the signature covers the raw bytes. " +
  "Call the receiver before request.json() or request.text(), or pass it request.clone().";
