// Workers that are frozen longer than their leases, and operators at work while their processes and the workers are killed.
import { setTimeout as pause } from "node:timers/promises";
import { privatePostgres, privateRedis } from "../../test/servers/index.ts";
import type { Random } from "../simulation/random.ts";
import type { Engine } from "./engines.ts";
import type { Fleet } from "./fleet.ts";
import { bullmqGround, type Ground, postgresGround, sqliteGround } from "./grounds.ts";
import type { Scenario } from "./scenario.ts";
import { tryInbox, usualTask } from "./trial.ts";

type InboxEngine = Exclude<Engine, "redis">;

/** A new engine, with its server. */
const starts: Readonly<Record<InboxEngine, () => Promise<Ground & { readonly place: string }>>> = {
  sqlite: sqliteGround,
  async postgres() {
    const server = await privatePostgres();
    return { ...(await postgresGround(server.url)), place: server.url, close: () => server.close() };
  },
  async bullmq() {
    const server = await privateRedis();
    return { ...(await bullmqGround(server.url)), place: server.url, close: () => server.close() };
  },
};

const names: Readonly<Record<InboxEngine, string>> = {
  sqlite: "sqliteInbox",
  postgres: "postgresInbox",
  bullmq: "bullmqInbox",
};

const leaseMs = 1000;

const frozen = (engine: InboxEngine): Scenario => ({
  name: `frozen workers, ${names[engine]}`,
  async run(random, seed) {
    const ground = await starts[engine]();
    const task = { ...usualTask(engine, ground.place, seed), leaseMs };
    return tryInbox({ ground, task, faults: (fleet) => freezeWorkers(fleet, random) }, random);
  },
});

async function freezeWorkers(fleet: Fleet, random: Random): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    await pause(random.between(200, 800));
    await fleet.freeze("work", random.between(1.5, 2.5) * leaseMs);
  }
}

const operated = (engine: InboxEngine): Scenario => ({
  name: `operators and kills, ${names[engine]}`,
  async run(random, seed) {
    const ground = await starts[engine]();
    const task = { ...usualTask(engine, ground.place, seed), leaseMs, failEvery: 5 };
    const faults = (fleet: Fleet) => killAll(fleet, random);
    return tryInbox({ ground, task, hasOperators: true, faults }, random);
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

const engines: readonly InboxEngine[] = ["sqlite", "postgres", "bullmq"];
export const restless: readonly Scenario[] = [...engines.map(frozen), ...engines.map(operated)];
