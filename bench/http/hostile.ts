// Authentic deliveries beside forged ones of all kinds, as many as 30 % of what a bare route can answer.
import type { Socket } from "node:net";
import { newSecret } from "@esim-webhooks/core/testing";
import { openConnections, p99, type Request, statusOf, wire } from "../load.ts";
import { median } from "../measure.ts";
import { line, ms, perSecond, times } from "../report.ts";
import type { AppName } from "./apps.ts";
import { standardWebhook } from "./deliveries.ts";
import { type StartedServer, withServers } from "./started.ts";

const rounds = 5;
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
async function beside(
  { url }: StartedServer,
  secret: string,
  forgedRate: number,
  forgedStatus: number,
): Promise<Beside> {
  const count = authenticPerSecond * (secondsPerRound + 1);
  const authentic = await openStream(
    url,
    Array.from({ length: count }, () => standardWebhook(secret, 300)),
    authenticPerSecond,
    (status) => status === 200,
  );
  const forged =
    forgedRate > 0 &&
    (await openStream(url, forgeries(secret), forgedRate, (status) => status >= forgedStatus));
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

/** A bare route, which reads and answers 200, shows what of it is the machine. */
export async function benchHostile(framework: "fastify" | "express", secret: string): Promise<void> {
  const names = [
    `${framework} bare`,
    `${framework} by hand`,
    `${framework} ours`,
  ] as const satisfies AppName[];
  await withServers(names, [secret], "", async (servers) => {
    const attack = attackShare * (await capacity(servers[`${framework} bare`], secret));
    console.log(
      `\n${framework}, ${authenticPerSecond} authentic deliveries a second beside ${perSecond(attack)} forged ones`,
    );
    const alone = new Map<AppName, Beside[]>(names.map((name) => [name, []]));
    const attacked = new Map<AppName, Beside[]>(names.map((name) => [name, []]));
    for (let round = 0; round <= rounds; round++) {
      for (const name of names) {
        const forgedStatus = name.endsWith("bare") ? 200 : 400;
        const quiet = await beside(servers[name], secret, 0, forgedStatus);
        const hostile = await beside(servers[name], secret, attack, forgedStatus);
        if (round === 0) continue; // warms up
        alone.get(name)?.push(quiet);
        attacked.get(name)?.push(hostile);
      }
    }
    for (const name of names) {
      const before = medianP99(alone.get(name));
      const after = medianP99(attacked.get(name));
      line(`${name}: p99 alone`, ms(before));
      line("  beside the attack", ms(after));
      line("  of alone", times(after / before), name.endsWith("ours") ? "≤ 2 ×" : undefined);
      const answered = median(attacked.get(name)?.map((each) => each.forgedPerSecond) ?? []);
      line("  forged ones answered", perSecond(answered));
    }
  });
}

function medianP99(rounds: readonly Beside[] = []): number {
  return median(rounds.map(({ p99Ms }) => p99Ms));
}

/** What the bare route answers a second. */
async function capacity(bare: StartedServer, secret: string): Promise<number> {
  const deliveries = Array.from({ length: 10_000 }, () => standardWebhook(secret, 300));
  const rates: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    rates.push((await bare.measure(deliveries, connections)).perSecond);
  }
  return median(rates.slice(1)); // the first one warms up
}
