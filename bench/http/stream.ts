import type { Socket } from "node:net";
import { openConnections, type Request, statusOf, wire } from "../load.ts";

/** Requests that are due at even distances. One that finds no free connection waits, and its time runs. */
export interface Stream {
  /** Sends what is due and finds a free connection. */
  send(): void;
  /** The times from when each answered request was due to its answer, in ms. */
  readonly times: readonly number[];
  close(): void;
}

const connections = 100;

/** @param rate how many requests are due a second; they are sent again from the first one on */
export async function openStream(
  url: string,
  requests: readonly Request[],
  rate: number,
  isExpected: (status: number) => boolean,
): Promise<Stream> {
  const sent = requests.map((request) => wire(url, request));
  const sockets = await openConnections(url, connections);
  const free = [...sockets];
  const times: number[] = [];
  const dueTimes = new Map<Socket, number>();
  for (const socket of sockets) {
    socket.on("data", (answer) => {
      if (!isExpected(statusOf(answer))) throw new Error(`an answer that is not expected: ${answer}`);
      times.push(performance.now() - (dueTimes.get(socket) ?? Number.NaN));
      free.push(socket);
    });
  }
  const startedAt = performance.now();
  let next = 0;
  return {
    times,
    send() {
      const now = performance.now();
      for (;;) {
        const dueAt = startedAt + (next * 1000) / rate;
        const request = sent[next % sent.length];
        if (dueAt > now || request === undefined) return;
        const socket = free.pop();
        if (socket === undefined) return;
        next += 1;
        dueTimes.set(socket, dueAt);
        socket.write(request);
      }
    },
    close() {
      for (const socket of sockets) socket.destroy();
    },
  };
}
