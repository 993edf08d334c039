import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse, ServerHttp2Stream } from "node:http2";
import { isUint8Array } from "node:util/types";
import { type Logger, silentLogger } from "../base/logger.ts";
import { warnOfSetup } from "../base/safe-logger.ts";
import type { EsimEvents } from "../event/esim-events.ts";
import { signatureHeaders } from "../verify/headers.ts";
import type { BodySink, BodyStream, Delivery, Received, Receiver } from "./delivery.ts";
import { createReceiver } from "./receiver.ts";
import type { ReceiverOptions } from "./receiver-options.ts";
import type { Reply } from "./reply.ts";
import type { Target } from "./target.ts";
import { targetPath } from "./target-path.ts";

/** A request listener for servers of `node:http`, `node:https` and `node:http2`. It serves all paths; only `endpoints` looks at them. */
export interface NodeHandler {
  (request: IncomingMessage | Http2ServerRequest, response: ServerResponse | Http2ServerResponse): void;
  /** Resolves while it can decide about deliveries, for `readinessHandler`. Rejects like `receiver.ready`. */
  ready(): Promise<void>;
  /** Answers 503 from now on. Resolves when all accepted deliveries have ended, late handlers included. */
  close(): Promise<void>;
}

/** A request of Node.js, with the fields that frameworks may have added. */
export type NodeRequest = IncomingMessage & { rawBody?: unknown; body?: unknown };

/**
 * Makes a receiver for plain Node.js: `http.createServer(nodeHandler(handlers))`.
 * Throws like `createReceiver`.
 */
export function nodeHandler<Data = EsimEvents, Tx = unknown>(
  target: Target<Data, Tx>,
  options: ReceiverOptions<Data, Tx> = {},
): NodeHandler {
  const receiver = createReceiver<Data, Tx>(target, options);
  const handle = (given: Parameters<NodeHandler>[0], answer: Parameters<NodeHandler>[1]): void => {
    const [request, response] = [given as IncomingMessage, answer as ServerResponse]; // HTTP/2's are compatible
    receiveRequest(receiver, request)
      .then((reply) => writeReply(response, reply, receiver.closing))
      .catch((error: unknown) => {
        warnOfSetup(options.logger ?? silentLogger, "reply_not_written", notWritten, error);
        response.destroy();
      });
  };
  return Object.assign(handle, { ready: receiver.ready, close: receiver.close });
}

const notWritten =
  "The answer to a delivery could not be written, so its connection was closed and the sender tries again. Fix what changes responses before the receiver.";

/**
 * Passes a Node.js request to a receiver, after a microtask in which Node.js reads what arrived in one packet with the
 * headers: a short body is there then, and needs no listeners, timer or promise.
 * @param receiver what `createReceiver` returned
 * @param request the request, whose body nothing has read yet
 * @param path below the adapter's route, for a receiver with `endpoints`. Default: the whole path of the request
 */
export async function receiveRequest(
  receiver: Pick<Receiver, "receive">,
  request: NodeRequest,
  path?: string,
): Promise<Received> {
  await undefined;
  return receiver.receive(nodeDelivery(request, path));
}

/** A Node.js request as a delivery. Uses the raw bytes that a body parser has kept, never a parsed body. */
export function nodeDelivery(
  request: NodeRequest,
  path: string | undefined = request.url && targetPath(request.url),
): Delivery {
  let bytes: Uint8Array | undefined; // kept, for another receiver of the same delivery
  return {
    method: request.method ?? "",
    headers: request.headers,
    path,
    body() {
      bytes ??= keptBody(request) ?? bodyAtHand(request);
      return bytes ?? streamOf(request);
    },
  };
}

/** Answers a request, and ends it as `discardRest` does. Does nothing if it was answered already, or its connection is closed. */
export function writeReply(
  response: ServerResponse,
  { status, headers, body }: Reply,
  closing: AbortSignal,
): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) });
  response.end(response.req.method === "HEAD" ? undefined : body);
  discardRest(response.req, closing);
}

/** Watches a request that an adapter passes on. `path` is where its receiver waits for deliveries. */
export type MissWatch = (request: IncomingMessage, response: ServerResponse, path: string) => void;

/**
 * For adapters with a path of their own: returns a watch that warns once of a signed delivery that was answered 404, which the sender does not
 * retry. The request's own path is not logged, since any client can write it.
 */
export function watchMisses(logger: Logger = silentLogger): MissWatch {
  let isWarned = false;
  return ({ headers }, response, path) => {
    if (isWarned || !signatureHeaders.every((name) => name in headers)) return;
    response.once("finish", () => {
      if (isWarned || response.statusCode !== 404) return;
      isWarned = true;
      warnOfSetup(
        logger,
        "delivery_missed",
        `A signed delivery was answered 404: the webhook receiver waits for ${path}. ` +
          "Set { path } to the path of the endpoint's URL below the mount.",
      );
    });
  };
}

const discardedBytes = 16 * 1024 * 1024;
const discardingMs = 5_000;

/**
 * Ends a request whose answer does not wait for the rest of its body. On HTTP/1, reads the rest, so that the sender gets to read the answer, and
 * cuts the connection after 16 MiB, after 5 s, or when the receiver closes; if the receiver has closed already, in the next event-loop tick. On
 * HTTP/2, closes the stream once the answer is written, or after 5 s; other streams of the session continue.
 * @param request the request that was answered, or is about to be
 * @param closing of the receiver
 */
export function discardRest(request: IncomingMessage, closing: AbortSignal): void {
  if (request.complete || request.destroyed || wholeBodyRead in request) return; // it may have emitted "close" already
  const stream = http2StreamOf(request);
  if (stream === undefined) readRest(request, closing);
  else closeStream(stream);
}

function readRest(request: IncomingMessage, closing: AbortSignal): void {
  let left = discardedBytes;
  const cut = () => void request.destroy();
  const timer = setTimeout(cut, closing.aborted ? 0 : discardingMs);
  closing.addEventListener("abort", cut);
  request.on("data", (chunk: Uint8Array | string) => {
    left -= chunk.length;
    if (left < 0) cut();
  });
  request.on("error", () => {});
  request.on("close", () => {
    clearTimeout(timer);
    closing.removeEventListener("abort", cut);
  });
  request.resume();
}

/** The stream of a request on HTTP/2. It ends in place of the connection, which other streams use. */
function http2StreamOf(request: IncomingMessage): ServerHttp2Stream | undefined {
  return request.httpVersionMajor === 2
    ? (request as { readonly stream?: ServerHttp2Stream }).stream
    : undefined;
}

/** Sends RST_STREAM with NO_ERROR after the answer, which the sender must not discard then (RFC 9113, section 8.1). */
function closeStream(stream: ServerHttp2Stream): void {
  const timer = setTimeout(() => stream.destroy(), discardingMs); // the client's window may be too small for the answer
  stream.once("close", () => clearTimeout(timer));
  if (stream.writableFinished) stream.close();
  else stream.once("finish", () => stream.close());
}

function keptBody({ rawBody, body }: NodeRequest): Uint8Array | undefined {
  if (isUint8Array(rawBody)) return rawBody;
  return isUint8Array(body) ? body : undefined;
}

/** Marks a request whose body was read before Node.js has seen its end. */
const wholeBodyRead = Symbol("esim-webhooks.wholeBodyRead");

/** The whole body, if Node.js has it already and no other code has begun to read it. */
function bodyAtHand(request: NodeRequest): Uint8Array | undefined {
  const { readableLength, readableFlowing, readableEncoding, destroyed, headers } = request;
  if (readableFlowing !== null || readableEncoding !== null || destroyed) return undefined;
  if (readableLength === 0 || readableLength !== Number(headers["content-length"])) return undefined;
  const bytes: Uint8Array = request.read();
  Object.assign(request, { [wholeBodyRead]: true });
  request.resume(); // it ends, as it would for a listener
  return bytes;
}

function streamOf(request: NodeRequest): BodyStream {
  return (sink) => {
    if (isAbandoned(request)) sink.abandon();
    else if (
      request.readableDidRead ||
      request.readableEnded ||
      request.readableEncoding ||
      request.destroyed
    ) {
      sink.consumed(consumedHint(request));
    } else return pump(request, sink);
    return () => {};
  };
}

/** Whether the client left before the whole body was read: a host's own middleware may have taken long. */
function isAbandoned(request: NodeRequest): boolean {
  const { destroyed, errored, readableEnded, readableDidRead } = request;
  if (http2StreamOf(request)?.aborted) return true; // Node.js ends and reads such a request itself
  return destroyed && !readableEnded && (Boolean(errored) || !readableDidRead);
}

function pump(request: NodeRequest, sink: BodySink): () => void {
  const onData = (chunk: Uint8Array | string) => {
    if (typeof chunk === "string") sink.consumed(consumedHint(request));
    else sink.add(chunk);
  };
  request.on("data", onData).on("error", sink.abandon).on("close", sink.abandon);
  request.on("end", sink.end);
  request.resume(); // an earlier listener may have paused it
  return () => {
    request.off("data", onData).off("error", sink.abandon).off("close", sink.abandon).off("end", sink.end);
  };
}

function consumedHint(request: NodeRequest): string {
  if (typeof request.rawBody === "string") {
    return (
      "req.rawBody is a string, and the signature covers the raw bytes, which text may have lost. " +
      "Keep the bytes without toString(): express.json({ verify: (req, _res, bytes) => { req.rawBody = bytes } })."
    );
  }
  const parser = request.body === undefined ? "something" : "a body parser, such as express.json(),";
  const what = request.readableEncoding ? "made text by request.setEncoding()" : `read by ${parser}`;
  return (
    `The raw body was ${what} before the webhook receiver, and the signature covers the raw bytes. ` +
    "Mount the receiver before the parser, or let the parser keep the bytes: " +
    "express.json({ verify: (req, _res, bytes) => { req.rawBody = bytes } })."
  );
}
