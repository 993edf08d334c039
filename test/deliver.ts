import { Agent, request } from "node:http";
import type { SignedRequest } from "@esim-webhooks/core/testing";

const agent = new Agent({ keepAlive: true });

/** The status of one delivery; 0 for a connection error. */
export function deliver(url: string, { headers, body }: SignedRequest): Promise<number> {
  return new Promise((resolve) => {
    const sent = request(url, { method: "POST", headers, agent }, (response) => {
      response.resume().on("end", () => resolve(response.statusCode ?? 0));
    });
    sent.on("error", () => resolve(0));
    sent.end(body);
  });
}

/** Does so many at the same time, one after the other. */
export async function inLanes<T>(
  items: readonly T[],
  lanes: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  const lane = async () => {
    for (let item = items[next++]; item !== undefined; item = items[next++]) await work(item);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
