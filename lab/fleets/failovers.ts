// A primary that is cut off and still acknowledges, while its replica is promoted; then it dies.
import { setTimeout as pause } from "node:timers/promises";
import { reconcile } from "@esim-webhooks/endpoint";
import { memoryState } from "../../packages/endpoint/test/reconcile/memory-state.ts";
import { made, servedListing } from "../../packages/endpoint/test/served-listing.ts";
import { type FailoverPair, postgresPair, redisPair } from "../../test/failover/pair.ts";
import type { OperatedInbox } from "../../test/operators/engines.ts";
import { privatePgBouncer } from "../../test/servers/index.ts";
import type { Random } from "../simulation/random.ts";
import { missingIn } from "./findings.ts";
import type { Fleet } from "./fleet.ts";
import type { Scenario } from "./scenario.ts";
import { longLeaseMs, tryStore } from "./store-trial.ts";
import { type Trial, tryInbox, usualTask } from "./trial.ts";
import { createBullmq, createPostgres } from "./trial-engines.ts";

/** How long before the promotion an event may have been acknowledged that an asynchronous replica lacks. */
const lagMs = 1000;

/** A failover in the middle of the traffic. Keeps when the replica was promoted, and when the old primary had died. */
function failoverOf(pair: FailoverPair, random: Random) {
  let [promotedAt, diedAt] = [Number.POSITIVE_INFINITY, 0];
  return {
    async strike(fleet: Fleet): Promise<void> {
      await pause(random.between(4500, 6000)); // late: a lost event that is delivered again later would be stored again
      promotedAt = Date.now();
      fleet.strike(2);
      await pair.promote();
      await pause(random.between(500, 1200));
      fleet.strike(2);
      await pair.takeOver();
      diedAt = Date.now();
    },
    /** The missing events that asynchronous replication does not explain, as sentences. */
    unexplained: (missing: readonly string[], acknowledged: ReadonlyMap<string, number>) =>
      missing
        .filter((id) => {
          const at = acknowledged.get(id) ?? 0;
          return at < promotedAt - lagMs || at > diedAt;
        })
        .map((id) => `${id} is lost, and was not acknowledged by the old primary in its last moments`),
  };
}

/** Reconciles the inbox with a listing of all acknowledged events. Returns what is broken then. */
async function reconcileAll(inbox: OperatedInbox, ids: readonly string[]): Promise<string[]> {
  const occurredMs = Date.now() - 3_600_000;
  const deliveries = ids.map((id) => made({ id, occurredMs }));
  const { api, endpoint } = servedListing(() => deliveries);
  await reconcile(api, endpoint, inbox, { since: new Date(occurredMs - 3_600_000), state: memoryState() });
  const missing = await missingIn(inbox, ids);
  return missing.map((id) => `${id} is lost, and reconcile has not brought it back`);
}

/** An inbox on an asynchronous replica may lose the last moments, and `reconcile` brings them back. */
const recovering = (failover: ReturnType<typeof failoverOf>): Pick<Trial, "recover"> => ({
  async recover(inbox, missing, acknowledged) {
    const broken = failover.unexplained(missing, acknowledged);
    return [...broken, ...(await reconcileAll(inbox, [...acknowledged.keys()]))];
  },
});

const postgres = (isSynchronous: boolean): Scenario => ({
  name: `failover, postgresInbox through PgBouncer, ${isSynchronous ? "synchronous" : "asynchronous"} standby`,
  async run(random, seed) {
    const pair = await postgresPair({ isSynchronous });
    const tables = await createPostgres(pair.url);
    const pooler = await privatePgBouncer(pair.url, 20);
    const engine = {
      ...tables,
      async close() {
        await pooler.close();
        await pair.close();
      },
    };
    const failover = failoverOf(pair, random);
    const task = usualTask("postgres", pooler.url, seed);
    return tryInbox(
      { engine, task, faults: failover.strike, ...(isSynchronous ? {} : recovering(failover)) },
      random,
    );
  },
});

const bullmq: Scenario = {
  name: "failover, bullmqInbox, asynchronous replica",
  async run(random, seed) {
    const pair = await redisPair();
    const engine = { ...(await createBullmq(pair.url)), close: () => pair.close() };
    const failover = failoverOf(pair, random);
    const task = usualTask("bullmq", pair.url, seed);
    return tryInbox({ engine, task, faults: failover.strike, ...recovering(failover) }, random);
  },
};

const redis = (waitReplicas: 0 | 1): Scenario => ({
  name: `failover, redisStore, ${waitReplicas === 0 ? "asynchronous replica" : "waitReplicas: 1"}`,
  async run(random, seed) {
    const pair = await redisPair();
    const failover = failoverOf(pair, random);
    const task = { ...usualTask("redis", pair.url, seed), waitReplicas, leaseMs: longLeaseMs };
    const mayForget = waitReplicas === 0 ? { unexplained: failover.unexplained } : {};
    return tryStore({ task, faults: failover.strike, close: () => pair.close(), ...mayForget }, random);
  },
});

export const failovers: readonly Scenario[] = [redis(0), redis(1), bullmq, postgres(false), postgres(true)];
