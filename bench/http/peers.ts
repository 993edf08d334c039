// Requests per second, CPU and the slowest answers of our adapters, alternating with their peers.
import { createKeyring, esimCatalog, verify } from "@esim-webhooks/core";
import type { Request } from "../load.ts";
import { median } from "../measure.ts";
import { line, micros, ms, perSecond, times } from "../report.ts";
import { type AppName, apps } from "./apps.ts";
import { type MakeDelivery, standardWebhook } from "./deliveries.ts";
import { type Round, type StartedServer, withServers } from "./started.ts";

type Framework = "fastify" | "express";

const sizes = [300, 2_000, 20_000];
const connectionCounts = [1, 10, 100, 1_000];
const usualConnections = 100;

/** How much slower a hand-written route may be, by the size of the body. */
const wantedOfByHand: Readonly<Record<number, string>> = {
  300: "≥ 1.15 ×",
  2000: "≥ 1.3 ×",
  20000: "≥ 2 ×",
};

interface Case {
  readonly bytes: number;
  readonly connections: number;
}

/** Enough for half a second or so. */
function deliveriesFor({ bytes, connections }: Case): number {
  if (connections === 1) return 2_000;
  return bytes > 10_000 ? 4_000 : 10_000;
}

type Servers<Name extends AppName> = Readonly<Record<Name, StartedServer>>;

/** Sends deliveries to every server, one after the other. Servers that verify the same scheme get the same ones, each with an id of its own. */
async function measure<Name extends AppName>(
  servers: Servers<Name>,
  given: Case,
  secret: string,
  afterRound: (deliveries: readonly Request[]) => void = () => {},
): Promise<Record<Name, Round[]>> {
  const names = Object.keys(servers) as Name[];
  const rounds = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, Round[]>;
  const repeats = given.connections === usualConnections ? 5 : 3;
  for (let round = 0; round <= repeats; round++) {
    const signed = new Map<MakeDelivery, Request[]>();
    for (const name of names) {
      const { delivery } = apps[name];
      const make = () => delivery(secret, given.bytes);
      const deliveries = signed.get(delivery) ?? Array.from({ length: deliveriesFor(given) }, make);
      signed.set(delivery, deliveries);
      const measured = await servers[name].measure(deliveries, given.connections);
      if (round > 0) rounds[name].push(measured); // the first one warms up
    }
    afterRound(signed.get(standardWebhook) ?? []);
  }
  return rounds;
}

/** V8 takes some 30,000 deliveries until a server is as fast as it gets. */
async function warmUp<Name extends AppName>(servers: Servers<Name>, secret: string): Promise<void> {
  await measure(servers, { bytes: 300, connections: usualConnections }, secret);
}

function medianOf(rounds: readonly Round[], figure: keyof Round): number {
  return median(rounds.map((round) => round[figure]));
}

function report(name: string, rounds: readonly Round[]): void {
  const rate = perSecond(medianOf(rounds, "perSecond")).padStart(10);
  const cpu = micros(medianOf(rounds, "cpu")).padStart(10);
  const slowest = ms(medianOf(rounds, "p99Ms")).padStart(9);
  const redisCpu = medianOf(rounds, "redisCpu");
  const ofRedis = Number.isNaN(redisCpu) ? "" : `, ${micros(redisCpu).padStart(7)} of Redis`;
  console.log(`  ${name.padEnd(34)} ${rate} ${cpu} of CPU${ofRedis}   p99 ${slowest}`);
}

function ratio(rounds: readonly Round[], peer: readonly Round[], figure: keyof Round): string {
  return times(medianOf(rounds, figure) / medianOf(peer, figure));
}

/** A hand-written route with a Map, for every size and number of connections. Resolves to the capacity of the bare route. */
export async function benchPeers(framework: Framework, secret: string): Promise<void> {
  const [bare, ours, byHand] = [
    `${framework} bare`,
    `${framework} ours`,
    `${framework} hand-written`,
  ] as const satisfies AppName[];
  await withServers([bare, byHand, ours], [secret], "", async (servers) => {
    await warmUp(servers, secret);
    for (const bytes of sizes) {
      for (const connections of connectionCounts) {
        console.log(`\n${framework}, ${bytes} bytes, ${connections} connections`);
        const isUsual = connections === usualConnections;
        const floors: number[] = [];
        const measured = await measure(servers, { bytes, connections }, secret, (deliveries) => {
          if (isUsual) floors.push(verifyParseValidate(deliveries, secret));
        });
        for (const name of [bare, byHand, ours] as const) report(name, measured[name]);
        const wanted = isUsual ? wantedOfByHand[bytes] : undefined;
        line("requests/s, of hand-written", ratio(measured[ours], measured[byHand], "perSecond"), wanted);
        if (connections === 1_000)
          line("p99, of hand-written", ratio(measured[ours], measured[byHand], "p99Ms"), "≤ 1 ×");
        if (!isUsual) continue;
        const beyond = medianOf(measured[ours], "cpu") - medianOf(measured[bare], "cpu");
        const floor = median(floors);
        line("CPU beyond the bare route", micros(beyond));
        line("verify + parse + validate", micros(floor));
        line("  of it", times(beyond / floor), framework === "express" ? "≤ 3 ×" : undefined);
      }
    }
  });
}

/**
 * The same work with ids in Redis: `SET NX` before the handler and a mark after it. On Fastify, our verification without a receiver stands
 * next to it, once with those two commands and once with our store.
 */
export async function benchRedis(framework: Framework, secret: string, redisUrl: string): Promise<void> {
  const byHand = `${framework} hand-written, Redis` as const;
  const ours = `${framework} ours, Redis` as const;
  const least =
    framework === "fastify" ? (["fastify least, Redis", "fastify least, redisStore"] as const) : [];
  await withServers([byHand, ...least, ours], [secret], redisUrl, async (servers) => {
    await warmUp(servers, secret);
    for (const bytes of sizes) {
      console.log(`\n${framework} with Redis, ${bytes} bytes, ${usualConnections} connections`);
      const measured = await measure(servers, { bytes, connections: usualConnections }, secret);
      for (const name of [byHand, ...least, ours]) report(name, measured[name]);
      const ofByHand = (name: keyof typeof measured) => ratio(measured[name], measured[byHand], "perSecond");
      line("requests/s, of hand-written", ofByHand(ours), "≥ 1.2 ×");
      for (const name of least) line(`  ${name}`, ofByHand(name));
    }
  });
}

/** Middlewares of other libraries compared with ours and the least that any must do. They verify the signatures of GitHub over bodies of the same size. */
export async function benchMiddlewares(secret: string): Promise<void> {
  const ours = "express ours";
  const bare = "express middleware, bare";
  const peers = ["express octokit", "express github-webhook-handler"] as const;
  await withServers([bare, ...peers, ours], [secret], "", async (servers) => {
    await warmUp(servers, secret);
    for (const bytes of sizes) {
      console.log(`\nexpress, other middlewares, ${bytes} bytes, ${usualConnections} connections`);
      const measured = await measure(servers, { bytes, connections: usualConnections }, secret);
      for (const name of [bare, ...peers, ours] as const) report(name, measured[name]);
      for (const peer of peers) {
        const of = `of ${peer.slice("express ".length)}`;
        line(`requests/s, ${of}`, ratio(measured[ours], measured[peer], "perSecond"), "≥ 1.5 ×");
        line(`  a middleware that checks nothing, ${of}`, ratio(measured[bare], measured[peer], "perSecond"));
        line(`CPU of that middleware, ${of}`, ratio(measured[bare], measured[peer], "cpu"));
      }
    }
  });
}

/** The CPU time that verifying, parsing and validating one delivery takes, in µs. */
function verifyParseValidate(deliveries: readonly Request[], secret: string): number {
  const keyring = createKeyring(secret);
  const given = deliveries.map(({ headers, body }) => ({ headers, body: Buffer.from(body) }));
  const before = process.threadCpuUsage();
  for (const delivery of given) {
    const proof = verify(delivery, keyring);
    if (!proof.ok || esimCatalog.parse(proof.id, delivery.body).kind !== "known")
      throw new Error("not verified");
  }
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / deliveries.length;
}
