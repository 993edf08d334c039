// Workers and receivers that are frozen longer than their leases, and operators at work while their processes and the workers are killed.
import { setTimeout as pause } from "node:timers/promises";
import { privatePostgres, privateRedis } from "../../test/servers/index.ts";
import type { InboxName } from "../engines.ts";
import type { Random } from "../simulation/random.ts";
import type { Fleet, Role } from "./fleet.ts";
import type { Scenario } from "./scenario.ts";
import { tryStore } from "./store-trial.ts";
import { tryInbox, usualTask } from "./trial.ts";
import { createBullmq, createPostgres, createSqlite, type TrialEngine } from "./trial-engines.ts";

/** A new engine, with its server. */
const starts: Readonly<Record<InboxName, () => Promise<TrialEngine & { readonly place: string }>>> = {
  sqlite: createSqlite,
  async postgres() {
    const server = await privatePostgres();
    return { ...(await createPostgres(server.url)), place: server.url, close: () => server.close() };
  },
  async bullmq() {
    const server = await privateRedis();
    return { ...(await createBullmq(server.url)), place: server.url, close: () => server.close() };
  },
};

const leaseMs = 1000;

const frozen = (name: InboxName): Scenario => ({
  name: `frozen workers, ${name}Inbox`,
  async run(random, seed) {
    const engine = await starts[name]();
    const task = { ...usualTask(name, engine.place, seed), leaseMs };
    return tryInbox({ engine, task, faults: (fleet) => freeze("work", fleet, random) }, random);
  },
});

/** Receivers that handle events inline. The other one takes an event over once its claim has ended. */
const frozenReceivers = (name: "redis" | "postgres"): Scenario => ({
  name: `frozen receivers, ${name}Store`,
  async run(random, seed) {
    const server = name === "redis" ? await privateRedis() : await privatePostgres();
    const engine = name === "redis" ? undefined : await createPostgres(server.url);
    const task = { ...usualTask(name, server.url, seed), isInline: true, leaseMs, failEvery: 3 };
    const faults = (fleet: Fleet) => freeze("receive", fleet, random);
    const close = async () => {
      await engine?.close();
      await server.close();
    };
    return tryStore({ task, faults, isFrozen: true, effects: engine?.effects, close }, random);
  },
});

async function freeze(role: Role, fleet: Fleet, random: Random): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    await pause(random.between(200, 800));
    await fleet.freeze(role, random.between(1.5, 2.5) * leaseMs);
  }
}

const operated = (name: InboxName): Scenario => ({
  name: `operators and kills, ${name}Inbox`,
  async run(random, seed) {
    const engine = await starts[name]();
    const task = { ...usualTask(name, engine.place, seed), leaseMs, failEvery: 5 };
    const faults = (fleet: Fleet) => killAll(fleet, random);
    return tryInbox({ engine, task, hasOperators: true, faults }, random);
  },
});

async function killAll(fleet: Fleet, random: Random): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    await pause(random.between(300, 1000));
    await Promise.all([
      fleet.kill("operate"),
      random.chance(0.7) ? fleet.kill("work") : fleet.freeze("work", 1.5 * leaseMs),
    ]);
  }
}

const inboxes: readonly InboxName[] = ["sqlite", "postgres", "bullmq"];
export const interruptions: readonly Scenario[] = [
  ...inboxes.map(frozen),
  frozenReceivers("redis"),
  frozenReceivers("postgres"),
  ...inboxes.map(operated),
];
