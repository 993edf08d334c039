import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import {
  type EsimEvents,
  type Handlers,
  type Logger,
  type OutcomeCode,
  type ReceiverOptions,
  sign,
  type Target,
  type WebhookEvent,
} from "@esim-webhooks/core";
import {
  newSecret,
  type SignedRequest,
  type SignedRequestOptions,
  sampleData,
  signedRequest,
} from "@esim-webhooks/core/testing";
import { type Answer, send, type WireRequest } from "./wire.ts";

/** A server with the adapter under test. */
export interface RunningServer {
  /** The full URL of the endpoint. Requests to paths below it go to the receiver too. */
  readonly url: string;
  /** Closes the receiver. Until the deliveries in flight have ended, the server still listens, and answers further ones 503. */
  shutDown(): Promise<void>;
  /** Stops the server. */
  close(): Promise<void>;
}

/** A host's own middleware, which may take long and does not read the request. */
export type Middleware = () => Promise<void>;

/**
 * Starts a server on a free port of the loopback interface. Each test calls it at least once.
 * @param target the handlers or the inbox of the adapter
 * @param options the options of its receiver
 * @param before awaited for each request, before the adapter gets it
 */
export type StartServer = (
  target: Target,
  options: ReceiverOptions,
  before: Middleware,
) => Promise<RunningServer>;

/** Runs `use` with a new server, and stops it in any case. */
export type WithServer = <T>(
  target: Target,
  options: ReceiverOptions,
  use: (server: RunningServer) => Promise<T>,
  before?: Middleware,
) => Promise<T>;

/** A sentence about a receiver, which names the test, and the test itself. */
export type Scenario = readonly [sentence: string, run: (withServer: WithServer) => Promise<void>];

/** The test of each outcome. */
export type ScenarioByOutcome = Readonly<Record<OutcomeCode, Scenario>>;

export const secret: string = newSecret();

/** A signed `esim.faulted`. Its id is new unless one is passed. */
export function faulted(options: Partial<SignedRequestOptions> & { id?: string } = {}): SignedRequest {
  const { id, ...rest } = options;
  return signedRequest(
    { ...(id !== undefined && { id }), type: "esim.faulted", data: sampleData("esim.faulted") },
    { secret, ...rest },
  );
}

/** Handlers that record their events. */
export function recording(): { handlers: Handlers<EsimEvents>; events: WebhookEvent[] } {
  const events: WebhookEvent[] = [];
  return { handlers: { "*": (event) => void events.push(event) }, events };
}

/** Handlers for a test in which none may run. */
export const noHandler: { readonly "*": () => never } = { "*": () => assert.fail("a handler ran") };

/** Handlers that run until `finish()` is called. `started` resolves when one begins. */
export function blocking(): { handlers: Handlers<EsimEvents>; started: Promise<void>; finish: () => void } {
  const started = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<void>();
  const handler = async () => {
    started.resolve();
    await finish.promise;
  };
  return { handlers: { "*": handler }, started: started.promise, finish: () => finish.resolve() };
}

/** A logger that records its lines with their levels. */
export function recordingLogger(): { logger: Logger; lines: Record<string, unknown>[] } {
  const lines: Record<string, unknown>[] = [];
  const at = (level: string) => (fields: object) => void lines.push({ level, ...fields });
  return { lines, logger: { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") } };
}

/** Checks the status and the code, and that the body and `Retry-After` are as in the contract, without other fields. */
export function assertAnswer(answer: Answer, status: number, code: string): void {
  const body = JSON.parse(answer.body) as Record<string, unknown>;
  assert.deepEqual({ status: answer.status, code: body["outcome"] ?? body["code"] }, { status, code });
  if (status < 300) {
    assert.deepEqual(body, { outcome: code });
    assert.match(String(answer.headers["content-type"]), /^application\/json/);
  } else {
    assert.deepEqual(Object.keys(body).sort(), ["code", "status", "title", "type"]);
    assert.match(String(answer.headers["content-type"]), /^application\/problem\+json/);
  }
  const retryAfter = answer.headers["retry-after"];
  if (status === 503) assert.match(String(retryAfter), /^[1-9]\d*$/);
  else assert.equal(retryAfter, undefined);
}

/** Sends a request to the receiver of the scenario. Resolves to the answer, and to all events that the handler got so far. */
export type Exchange = (request: WireRequest) => Promise<{ answer: Answer; events: readonly WebhookEvent[] }>;

/** The time of a receiver whose clock stands still. */
export const now: Date = new Date("2026-11-20T12:00:00.400Z");

/** A scenario of requests to a receiver whose clock stands still. */
export function exchange(sentence: string, run: (exchange: Exchange) => Promise<void>): Scenario {
  return [
    sentence,
    (withServer) => {
      const { handlers, events } = recording();
      const options = { secret, clock: { now: () => now.getTime() } };
      return withServer(handlers, options, ({ url }) =>
        run(async (request) => ({ answer: await send(url, request), events })),
      );
    },
  ];
}

/** An authentic request with exactly these bytes as its body. */
export function authentic(body: string | Uint8Array, id = "msg_bytes", timestamp: Date = now): WireRequest {
  return { headers: { ...sign({ id, body, timestamp }, secret) }, body };
}

/**
 * Makes an authentic request with any id and timestamp. Its headers have one character for each byte.
 * @param signed the bytes of the id that the sender has signed, if they differ from those in the header
 */
export function signedWith(
  id: string,
  {
    signed = id,
    timestamp = String(Math.floor(now.getTime() / 1000)),
  }: { readonly signed?: string; readonly timestamp?: string } = {},
): WireRequest {
  const body = envelope(`{${base}}`);
  const hmac = createHmac("sha256", Buffer.from(secret.slice("whsec_".length), "base64"));
  const mac = hmac.update(`${signed}.${timestamp}.`, "latin1").update(body).digest("base64");
  const headers = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${mac}` };
  return { headers, body: Buffer.from(body) }; // with a text as the body, Node.js would send the headers in UTF-8
}

/** Returns the body of an event with this JSON as its data. */
export function envelope(data: string): string {
  return `{"type":"esim.faulted","timestamp":"2026-11-20T12:00:00Z","data":${data}}`;
}

/** The fields that the data needs, without the braces. */
export const base: string = '"profileReference":"1","esimReference":"2","reason":"unknown"';
