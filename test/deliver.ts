import { Agent, request } from "node:http";
import type { SignedRequest } from "@esim-webhooks/core/testing";

const agent = new Agent({ keepAlive: true });

export interface Answer {
  /** 0 for a connection error. */
  readonly status: number;
  readonly body: string;
}

/** The answer to one delivery. */
export function answerTo(url: string, { headers, body }: SignedRequest): Promise<Answer> {
  return new Promise((resolve) => {
    const sent = request(url, { method: "POST", headers, agent }, (response) => {
      let answer = "";
      response.setEncoding("utf8").on("data", (text) => {
        answer += text;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body: answer }));
    });
    sent.on("error", () => resolve({ status: 0, body: "" }));
    sent.end(body);
  });
}

/** The status of one delivery; 0 for a connection error. */
export async function deliver(url: string, request: SignedRequest): Promise<number> {
  return (await answerTo(url, request)).status;
}

/** Does that many at the same time, one after the other. */
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
