// A network that cuts, half-closes and delays. Everything here runs in the namespace of the servers: see network-process.ts.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { privatePostgres, privateRedis } from "../../test/servers/index.ts";
import type { Random } from "../simulation/random.ts";
import type { Fleet } from "./fleet.ts";
import { type Direction, type Segment, segmentsOf } from "./namespaces.ts";
import type { Scenario } from "./scenario.ts";
import { longLeaseMs, tryStore } from "./store-trial.ts";
import { tryInbox, usualTask } from "./trial.ts";
import { createBullmq, createPostgres } from "./trial-engines.ts";

/** Longer than a call of an engine may last, so that one without a limit is noticed. */
const halfClosedMs = 10_000;

/** Strikes each segment with each fault, both segments at the same time. */
const strikes = (segments: readonly Segment[], random: Random) => (fleet: Fleet) =>
  Promise.all(segments.map((segment, n) => strikeOne(segment, fleet, random.fork(`${n}`)))).then(() => {});

async function strikeOne(segment: Segment, fleet: Fleet, random: Random): Promise<void> {
  const cut =
    (ms: number, ...directions: readonly Direction[]) =>
    () => {
      for (const direction of directions) segment.drop(direction);
      return ms;
    };
  const slow = () => {
    segment.slow();
    return 2500;
  };
  const faults: readonly (() => number)[] = [
    cut(halfClosedMs, "from the servers"),
    cut(halfClosedMs, "to the servers"),
    cut(2000, "to the servers", "from the servers"),
    slow,
  ];
  const first = random.below(faults.length);
  for (const [n] of faults.entries()) {
    await pause(random.between(300, 900));
    fleet.strike(1); // each segment has one worker
    await pause(faults[(first + n) % faults.length]?.());
    segment.heal();
  }
}

const settings = { overMs: 25_000, events: 250 };

const postgres = (id: string): Scenario => ({
  name: "network, postgresInbox",
  async run(random, seed) {
    const segments = segmentsOf(id);
    const folder = mkdtempSync(join(tmpdir(), "esim-webhooks-fleets-"));
    chmodSync(folder, 0o755);
    const rules = join(folder, "pg_hba.conf");
    const all = ["127.0.0.1/32", "10.213.0.0/16"].map((from) => `host all all ${from} trust\n`);
    writeFileSync(rules, all.join(""), { mode: 0o644 });
    const server = await privatePostgres({ listen_addresses: listened(segments).join(","), hba_file: rules });
    const engine = {
      ...(await createPostgres(server.url)),
      async close() {
        await server.close();
        rmSync(folder, { recursive: true });
      },
    };
    const task = { ...usualTask("postgres", server.url, seed), ...settings };
    const prefixes = prefixesOf(segments);
    return tryInbox({ engine, task, prefixes, faults: strikes(segments, random) }, random);
  },
});

const listened = (segments: readonly Segment[]) => [
  "127.0.0.1",
  ...segments.map(({ serverAddress }) => serverAddress),
];

/** Each process of the fleet is in its segment, and connects to the address of the servers there. */
const prefixesOf = (segments: readonly Segment[]) =>
  segments.map(({ prefix, serverAddress }) => [...prefix, "env", `SERVER_ADDRESS=${serverAddress}`]);

/** Redis in its namespace: without a password it answers only on loopback, unless its protected mode is off. */
const redisOn = (segments: readonly Segment[]) =>
  privateRedis("--protected-mode", "no", "--bind", ...listened(segments));

const bullmq = (id: string): Scenario => ({
  name: "network, bullmqInbox",
  async run(random, seed) {
    const segments = segmentsOf(id);
    const server = await redisOn(segments);
    const engine = { ...(await createBullmq(server.url)), close: () => server.close() };
    const task = { ...usualTask("bullmq", server.url, seed), ...settings };
    return tryInbox(
      { engine, task, prefixes: prefixesOf(segments), faults: strikes(segments, random) },
      random,
    );
  },
});

const redis = (id: string): Scenario => ({
  name: "network, redisStore",
  async run(random, seed) {
    const segments = segmentsOf(id);
    const server = await redisOn(segments);
    const task = { ...usualTask("redis", server.url, seed), ...settings, leaseMs: longLeaseMs };
    const prefixes = prefixesOf(segments);
    const faults = strikes(segments, random);
    return tryStore({ task, prefixes, faults, close: () => server.close() }, random);
  },
});

/** The scenarios in a network that was made. */
export const networks = (id: string): readonly Scenario[] => [postgres(id), bullmq(id), redis(id)];
