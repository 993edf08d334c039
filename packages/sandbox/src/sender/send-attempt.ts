import { createKeyring, type SigningKey, sign } from "@esim-webhooks/core";
import { newSecret } from "@esim-webhooks/core/testing";
import type { DeliveryFault } from "../base/fault.ts";
import type { Service } from "../base/service.ts";
import type { Answer, Attempt } from "./attempt.ts";
import type { DeliveryRequest, HttpClient } from "./http-client.ts";
import type { SentRequests } from "./sent-requests.ts";

const maxRedirects = 5;

/** Sends an attempt, changed by its fault if it has one. Resolves to the answer; for the fault `duplicate`, to that of the first request. Never rejects. */
export type SendAttempt = (attempt: Attempt, fault: DeliveryFault | undefined) => Promise<Answer>;

/** The switch `answerLimitMs` bounds an attempt, redirects included; a slow fault's body adds to it. */
export function attemptSender(service: Service, client: HttpClient, sent: SentRequests): SendAttempt {
  const signatureOf = attemptSigner(service);

  async function post(request: DeliveryRequest, redirects = 0): Promise<Answer> {
    const answer = await client.post(request);
    if (service.switches.redirects !== "follow" || redirects === maxRedirects) return answer;
    const url = redirectOf(answer, request.url);
    return url === undefined ? answer : post({ ...request, url }, redirects + 1);
  }

  return async (attempt, fault) => {
    const body = Buffer.from(attempt.body);
    const bodyMs = fault?.kind === "slow" ? (body.byteLength / fault.bytesPerSecond) * 1000 : 0;
    const headers = {
      "content-type": "application/json",
      "content-length": String(body.byteLength),
      "user-agent": "esim-webhooks-sandbox",
      ...signatureOf(attempt, fault),
    };
    sent.keep(attempt, { headers, sentAt: Date.now() });
    const request: DeliveryRequest = {
      url: attempt.url,
      headers,
      body,
      fault,
      deadline: performance.now() + service.switches.answerLimitMs + bodyMs,
    };
    if (fault?.kind !== "duplicate") return post(request);
    const [answer] = await Promise.all([post(request), post(request)]);
    return answer;
  };
}

/** Returns the HTTP or HTTPS URL that a 3xx answer points to. Undefined if there is none. */
function redirectOf({ httpStatus, location }: Answer, from: string): string | undefined {
  if (httpStatus === null || httpStatus < 300 || httpStatus > 399 || location === undefined) return undefined;
  const url = URL.parse(location, from);
  return url?.protocol === "http:" || url?.protocol === "https:" ? url.href : undefined;
}

const wrongSecret = newSecret();

/** Returns the signature's headers, made with the secret that the endpoint had when the attempt began, or with the one of the fault. */
export type SignAttempt = (attempt: Attempt, fault: DeliveryFault | undefined) => Record<string, string>;

function attemptSigner({ clock, switches }: Service): SignAttempt {
  const keys = new Map<string, SigningKey>();

  function keyOf(secret: string): SigningKey {
    const known = keys.get(secret);
    if (known !== undefined) return known;
    const [key] = createKeyring([{ secret: written(secret) }]).keysAt(0) as [SigningKey];
    if (keys.size >= maxKeys) keys.clear(); // otherwise rotated secrets would pile up
    keys.set(secret, key);
    return key;
  }

  return ({ eventId, body, createdAt, signingSecret, previousSecret }, fault) => {
    const secret =
      fault?.kind === "wrong_signature"
        ? wrongSecret
        : fault?.kind === "old_signature"
          ? (previousSecret ?? wrongSecret)
          : signingSecret;
    const ageMs = switches.timestampPer === "delivery" ? clock.now() - createdAt : 0;
    const timestamp = new Date(Date.now() - ageMs);
    return { ...sign({ id: eventId, body, timestamp }, keyOf(secret)) };
  };
}

const maxKeys = 1000;

/**
 * Returns a secret as `createKeyring` reads it. A secret that the service made with the switch `secretFormat: custom` is the key in
 * hexadecimal, which a keyring reads only after `hex:`.
 */
function written(secret: string): string {
  return secret.startsWith("whsec_") ? secret : `hex:${secret}`;
}
