import { sign, type WebhookEvent } from "@esim-webhooks/core";
import { recording, type Scenario, secret } from "./scenario.ts";
import { type Answer, send, type WireRequest } from "./wire.ts";

/** Sends one request to a new receiver. Resolves to the answer and the events that the handler got. */
export type Exchange = (request: WireRequest) => Promise<{ answer: Answer; events: readonly WebhookEvent[] }>;

/** The time of the receiver. */
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

/** The body of an event with this JSON as its data. */
export function envelope(data: string): string {
  return `{"type":"esim.faulted","timestamp":"2026-11-20T12:00:00Z","data":${data}}`;
}

/** The fields that the data needs, without the braces. */
export const base: string = '"profileReference":"1","esimReference":"2","reason":"unknown"';
