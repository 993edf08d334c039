import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import { sampleData } from "@esim-webhooks/core/testing";
import { Webhook } from "standardwebhooks";
import { openConnections, p99, statusOf, wire } from "../../bench/load.ts";

/** Deliveries that are sent at a rate. */
export interface Sending {
  /** The 99th percentile of the time to the answer since the last call, in ms, counted from when each delivery was to be sent. */
  p99(): number;
  /** The answers, by status. */
  readonly counts: Readonly<Record<string, number>>;
}

const type = "esim.enabled";
const tickMs = 10;
const mostConnections = 64;
const mostLateSeconds = 10;

/** Sends that many deliveries a second until the process ends, signed by `standardwebhooks` with the secret of the moment. */
export async function sendAtRate(url: string, perSecond: number, secret: () => string): Promise<Sending> {
  const free = await openConnections(url, Math.min(mostConnections, perSecond));
  const counts: Record<string, number> = {};
  const late: number[] = [];
  let times: number[] = [];
  const count = (what: string) => (counts[what] = (counts[what] ?? 0) + 1);
  const plannedAt = new WeakMap<Socket, number>();

  function send(socket: Socket, planned: number): void {
    plannedAt.set(socket, planned);
    socket.write(wire(url, signed(secret())));
  }
  for (const socket of free)
    socket
      .on("data", (answer) => {
        times.push(performance.now() - (plannedAt.get(socket) ?? Number.NaN));
        count(`answers ${statusOf(answer)}`);
        const next = late.shift();
        if (next === undefined) free.push(socket);
        else send(socket, next);
      })
      .on("close", () => {
        throw new Error("The receiver has closed a connection.");
      });

  const startedAt = performance.now();
  let planned = 0;
  setInterval(() => {
    for (; planned < ((performance.now() - startedAt) * perSecond) / 1000; planned += 1) {
      const at = startedAt + (planned * 1000) / perSecond;
      const socket = free.shift(); // the one that has rested longest, so that none is closed as idle
      if (socket !== undefined) send(socket, at);
      else if (late.length < mostLateSeconds * perSecond) late.push(at);
      else count("not sent, since the receiver was too slow");
    }
  }, tickMs);
  return {
    counts,
    p99() {
      const since = Float64Array.from(times);
      times = [];
      return p99(since);
    },
  };
}

function signed(secret: string): { headers: Record<string, string>; body: string } {
  const id = `msg_${randomUUID()}`;
  const at = new Date();
  const body = JSON.stringify({ type, timestamp: at.toISOString(), data: sampleData(type) });
  return {
    headers: {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
      "webhook-signature": new Webhook(secret).sign(id, at, body),
    },
    body,
  };
}
