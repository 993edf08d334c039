import { Agent, request } from "node:http";
import type { SignedRequest } from "@esim-webhooks/core/testing";

export interface Flood {
  readonly connections: number;
  /** Ends the flood, if `requests` do not. */
  readonly signal?: AbortSignal;
}

export interface Flooded {
  /** How often each status was the answer; 0 for a connection that broke. */
  readonly statuses: Readonly<Record<number, number>>;
  /** The times to the answers, in milliseconds, the shortest first. */
  readonly timesMs: readonly number[];
}

/** Sends `requests` over keep-alive connections, one at a time on each. Resolves when all are answered. */
export async function flood(
  url: string,
  requests: Iterable<SignedRequest>,
  { connections, signal }: Flood,
): Promise<Flooded> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const statuses: Record<number, number> = {};
  const timesMs: number[] = [];
  const next = requests[Symbol.iterator]();
  const sendOneByOne = async () => {
    while (signal?.aborted !== true) {
      const { value, done } = next.next();
      if (done === true) return;
      const sentAt = performance.now();
      const status = await statusOf(url, value, agent);
      timesMs.push(performance.now() - sentAt);
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  };
  try {
    await Promise.all(Array.from({ length: connections }, sendOneByOne));
  } finally {
    agent.destroy();
  }
  return { statuses, timesMs: timesMs.sort((a, b) => a - b) };
}

/** Sends `requests` over that many `connections` while `work` is done. */
export async function whileFlooded<Result>(
  url: string,
  requests: Iterable<SignedRequest>,
  connections: number,
  work: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly flooded: Flooded }> {
  const ending = new AbortController();
  const flooding = flood(url, requests, { connections, signal: ending.signal });
  try {
    const result = await work();
    ending.abort();
    return { result, flooded: await flooding };
  } finally {
    ending.abort();
  }
}

function statusOf(url: string, { method, headers, body }: SignedRequest, agent: Agent): Promise<number> {
  return new Promise((resolve) => {
    const length = { "content-length": Buffer.byteLength(body) };
    request(url, { method, agent, headers: { ...headers, ...length } })
      .on("error", () => resolve(0))
      .on("response", (response) => response.resume().on("close", () => resolve(response.statusCode ?? 0)))
      .end(body);
  });
}
