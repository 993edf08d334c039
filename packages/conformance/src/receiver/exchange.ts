import { createHmac } from "node:crypto";
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

/**
 * An authentic request with any id and timestamp in its headers, which have a character for each byte.
 * @param signed the bytes of the id that the sender has signed, if they are other ones than it has sent
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

/** The body of an event with this JSON as its data. */
export function envelope(data: string): string {
  return `{"type":"esim.faulted","timestamp":"2026-11-20T12:00:00Z","data":${data}}`;
}

/** The fields that the data needs, without the braces. */
export const base: string = '"profileReference":"1","esimReference":"2","reason":"unknown"';
