// Authentic deliveries beside forged ones of all kinds, as many as 30 % of what a bare route can answer.
import type { Socket } from "node:net";
import { newSecret } from "@esim-webhooks/core/testing";
import { openConnections, p99, type Request, statusOf, wire } from "../load.ts";
import { median } from "../measure.ts";
import { line, ms, perSecond, times } from "../report.ts";
import type { AppName } from "./apps.ts";
import { standardWebhook } from "./deliveries.ts";
import { type StartedServer, withServers } from "./started.ts";

const rounds = 3;
const secondsPerRound = 2;
const authenticPerSecond = 1_000;
const connections = 100;
const attackShare = 0.3;

/** One delivery of each kind that anybody can send. */
function forgeries(secret: string): Request[] {
  const authentic = (bytes = 300) => standardWebhook(secret, bytes);
  const forged = (bytes = 300) => standardWebhook(newSecret(), bytes);
  const withHeaders = (headers: Readonly<Record<string, string>>) => {
    const { headers: signed, body } = forged();
    return { headers: { ...signed, ...headers }, body };
  };
  const { body, headers } = authentic();
  const signature = headers["webhook-signature"] ?? "";
  return [
    { headers: { "content-type": "application/json" }, body }, // no signature
    withHeaders({ "webhook-signature": "v1,AAAA" }), // a malformed one
    withHeaders({ "webhook-id": "x".repeat(2_000) }), // an id that is too long
    forged(), // signed with another secret
    { headers, body: body.replace("esim.faulted", "esim.enabled") }, // changed after signing
    withHeaders({ "webhook-timestamp": "1" }), // old, and not signed so
    withHeaders({ "webhook-signature": Array.from({ length: 60 }, () => forgedSignature()).join(" ") }),
    withHeaders({ "content-encoding": "gzip" }),
    { headers: { ...headers, "webhook-id": "msg_another" }, body }, // a signature of another id
    { headers: { ...headers, "webhook-signature": signature.replace("v1,", "v2,") }, body },
    forged(2_000),
    forged(20_000),
  ];
  function forgedSignature() {
    return forged().headers["webhook-signature"] ?? "";
  }
}

/** Requests that are due at even distances. One that finds no free connection waits, and its time runs. */
interface Stream {
  /** Sends what is due and finds a free connection. */
  send(): void;
  /** The times from when each answered request was due to its answer, in ms. */
  readonly times: readonly number[];
  close(): void;
}

async function openStream(
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

interface Beside {
  readonly p99Ms: number;
  readonly forgedPerSecond: number;
}

/** Sends authentic deliveries, and forged ones beside them if there is a rate, from one event loop that never sleeps. */
async function beside({ url }: StartedServer, secret: string, forgedRate: number): Promise<Beside> {
  const count = authenticPerSecond * (secondsPerRound + 1);
  const authentic = await openStream(
    url,
    Array.from({ length: count }, () => standardWebhook(secret, 300)),
    authenticPerSecond,
    (status) => status === 200,
  );
  const forged =
    forgedRate > 0 && (await openStream(url, forgeries(secret), forgedRate, (status) => status >= 400));
  const startedAt = performance.now();
  while (performance.now() - startedAt < secondsPerRound * 1000) {
    authentic.send();
    if (forged) forged.send();
    await new Promise(setImmediate);
  }
  authentic.close();
  if (forged) forged.close();
  return {
    p99Ms: p99(Float64Array.from(authentic.times)),
    forgedPerSecond: forged ? forged.times.length / secondsPerRound : 0,
  };
}

/** @param barePerSecond what the bare route of the framework can answer */
export async function benchHostile(
  framework: "fastify" | "express",
  secret: string,
  barePerSecond: number,
): Promise<void> {
  const names = [`${framework} by hand`, `${framework} ours`] as const satisfies AppName[];
  const attack = attackShare * barePerSecond;
  console.log(
    `\n${framework}, ${authenticPerSecond} authentic deliveries a second beside ${perSecond(attack)} forged ones`,
  );
  await withServers(names, [secret], "", async (servers) => {
    for (const name of names) {
      await beside(servers[name], secret, attack); // warms up
      const alone: Beside[] = [];
      const attacked: Beside[] = [];
      for (let round = 0; round < rounds; round++) {
        alone.push(await beside(servers[name], secret, 0));
        attacked.push(await beside(servers[name], secret, attack));
      }
      const [before, after] = [alone, attacked].map((each) => median(each.map(({ p99Ms }) => p99Ms))) as [
        number,
        number,
      ];
      line(`${name}: p99 alone`, ms(before));
      line("  beside the attack", ms(after));
      line("  of alone", times(after / before), name.endsWith("ours") ? "≤ 2 ×" : undefined);
      line("  forged ones answered", perSecond(median(attacked.map((each) => each.forgedPerSecond))));
    }
  });
}
