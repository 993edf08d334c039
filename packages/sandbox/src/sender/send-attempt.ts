import type { Service } from "../base/service.ts";
import type { DeliveryFault } from "../faults/fault.ts";
import type { Answer } from "./answer.ts";
import type { Attempt } from "./attempt.ts";
import type { DeliveryRequest, HttpClient } from "./http-client.ts";
import { attemptSigner } from "./sign-attempt.ts";

const maxRedirects = 5;

/** Sends an attempt, as its fault makes it, and resolves to the answer that counts. Never rejects. */
export type SendAttempt = (attempt: Attempt, fault: DeliveryFault | undefined) => Promise<Answer>;

export function attemptSender(service: Service, client: HttpClient): SendAttempt {
  const signatureOf = attemptSigner(service);

  async function post(request: DeliveryRequest, redirects = 0): Promise<Answer> {
    const answer = await client.post(request);
    if (service.switches.redirects !== "follow" || redirects === maxRedirects) return answer;
    const url =
      answer === "no_answer" ? undefined : redirectOf(answer.httpStatus, answer.location, request.url);
    return url === undefined ? answer : post({ ...request, url }, redirects + 1);
  }

  return async (attempt, fault) => {
    const request: DeliveryRequest = {
      url: attempt.url,
      headers: {
        "content-type": "application/json",
        "user-agent": "esim-webhooks-sandbox",
        ...signatureOf(attempt, fault),
      },
      body: Buffer.from(attempt.body),
      fault,
    };
    if (fault?.kind !== "duplicate") return post(request);
    const [answer] = await Promise.all([post(request), post(request)]);
    return answer;
  };
}

/** Where a 3xx answer points to, if to anywhere. */
function redirectOf(status: number, location: string | undefined, from: string): string | undefined {
  if (status < 300 || status > 399 || location === undefined) return undefined;
  return URL.parse(location, from)?.href;
}
