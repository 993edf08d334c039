import {
  type BodyStream,
  createReceiver,
  type Delivery,
  type EsimEvents,
  type ReceiverOptions,
  type Reply,
  type Target,
} from "@esim-webhooks/core";
import { unknownEventSource } from "./base/errors.ts";
import { type LambdaContext, remainingMs } from "./base/remaining-time.ts";

/** The fields that are used of an event of API Gateway (payload formats 1.0 and 2.0), a function URL or an Application Load Balancer. */
export interface HttpEvent {
  /** The method, in format 1.0 and of a load balancer. */
  readonly httpMethod?: string;
  /** The path, in format 1.0 and of a load balancer. */
  readonly path?: string;
  /** The path, in format 2.0. */
  readonly rawPath?: string;
  /** The headers, each with one value. */
  readonly headers?: Readonly<Record<string, string | undefined>> | null | undefined;
  /** All values of each header. It takes precedence over `headers`. */
  readonly multiValueHeaders?: Readonly<Record<string, readonly string[] | undefined>> | null | undefined;
  /** The body: text, or base64 if `isBase64Encoded`. */
  readonly body?: string | null;
  /** Whether the body is base64, and so has all its bytes. */
  readonly isBase64Encoded?: boolean;
  /** The source's facts about the request. In format 2.0, the method is in `http`. */
  readonly requestContext: object;
}

/** The answer in the form that the source of the event takes. */
export interface HttpResult {
  /** The HTTP status. */
  statusCode: number;
  /** The headers, each with one value. */
  headers?: Record<string, string>;
  /** In place of `headers`, for a load balancer whose target group has multi-value headers. */
  multiValueHeaders?: Record<string, string[]>;
  /** JSON text. */
  body: string;
  /** Always false. */
  isBase64Encoded: boolean;
}

/** A Lambda function of HTTP events. */
export interface LambdaHandler {
  (event: HttpEvent, context?: LambdaContext): Promise<HttpResult>;
  /** Resolves while it can decide about deliveries. Rejects like `receiver.ready`. */
  ready(): Promise<void>;
  /** Answers 503 from now on. Resolves when all accepted deliveries have ended, late handlers included. */
  close(): Promise<void>;
}

/**
 * Makes a receiver for AWS Lambda: `export const handler = lambdaHandler(handlers, { store })`, behind API Gateway (REST and HTTP APIs), a
 * function URL or an Application Load Balancer. The deadline is `deadlineMs`, or half a second before the function's own timeout if that is
 * earlier; with less time left, nothing runs and the answer is 503. `endpoints` gets the event's whole path.
 *
 * Throws like `createReceiver`: the function then fails to start, which is answered 5xx. The handler rejects with `unknown_event_source` for an event
 * that is not an HTTP request.
 */
export function lambdaHandler<Data = EsimEvents, Tx = unknown>(
  target: Target<Data, Tx>,
  options: ReceiverOptions<Data, Tx> = {},
): LambdaHandler {
  const receiver = createReceiver<Data, Tx>(target, options);
  const handle = async (event: HttpEvent, context?: LambdaContext): Promise<HttpResult> => {
    const delivery = { ...deliveryOf(event), remainingMs: remainingMs(context) };
    const received = await receiver.receive(delivery);
    if (received.outcome.code !== "no_matching_key" || !mayHaveLostBytes(event))
      return resultOf(event, received);
    return resultOf(event, await receiver.receive({ ...delivery, body: () => lostBytes }));
  };
  return Object.assign(handle, { ready: receiver.ready, close: receiver.close });
}

function deliveryOf(event: HttpEvent): Delivery {
  // only format 2.0 has `http`
  const { http } = (event?.requestContext ?? {}) as { readonly http?: { readonly method: string } };
  const method = http?.method ?? event?.httpMethod;
  if (typeof method !== "string") {
    throw unknownEventSource(
      "lambdaHandler",
      "The event is not an HTTP request of API Gateway, a function URL or a load balancer.",
      "Connect lambdaHandler to one of those. For messages of a queue, use sqsHandler.",
    );
  }
  return {
    method,
    // API Gateway repeats these in `headers`, with only the last value of each
    headers: event.multiValueHeaders ?? event.headers ?? {},
    path: event.rawPath ?? event.path,
    body: bodyOf(event),
  };
}

/** A body parser in front, such as middy's, leaves an object, which the receiver refuses. */
function bodyOf({ body, isBase64Encoded }: HttpEvent): Delivery["body"] {
  const text = body ?? "";
  return typeof text === "string" ? () => Buffer.from(text, isBase64Encoded ? "base64" : "utf8") : text;
}

function resultOf(event: HttpEvent, { status, headers, body }: Reply): HttpResult {
  const lists = Object.entries(headers).map(([name, value]) => [name, [value]]);
  return {
    statusCode: status,
    ...(event.headers ? { headers: { ...headers } } : { multiValueHeaders: Object.fromEntries(lists) }),
    body,
    isBase64Encoded: false,
  };
}

/** Whether the body is text with the character that replaces bytes which are not UTF-8: then a signature that does not match proves nothing. */
function mayHaveLostBytes({ body, isBase64Encoded }: HttpEvent): boolean {
  return isBase64Encoded !== true && typeof body === "string" && body.includes("\ufffd");
}

const lostBytes: BodyStream = (sink) => {
  sink.consumed(
    "The body arrived as text in which bytes may have been replaced, and the signature covers the raw bytes. " +
      'Have API Gateway pass bodies as they are: set the binary media type "*/*" of the REST API.',
  );
  return () => {};
};
