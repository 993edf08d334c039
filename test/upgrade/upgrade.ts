import { expect, onTestFinished } from "vitest";
import type { Run } from "../run.ts";
import { runInTest } from "../support/run-in-test.ts";
import { freezePrevious } from "./freeze.ts";
import type { Version } from "./packages.ts";
import type { Effects, Received } from "./process.ts";

/** The variables that processes of both versions read. */
interface Environment {
  readonly STORE: "postgres" | "sqlite";
  readonly PLACE: string;
  readonly FROZEN: string;
}

/** A database in which processes of two versions meet. */
export interface Place {
  readonly environment: Environment;
  effects(): Promise<Effects["effect"][]>;
  /** Counts the events in each state. */
  states(): Promise<Record<string, number>>;
}

/** Has the previous version make its tables. The bundle of that version is removed at the end of the test. */
export async function migratePrevious(database: Omit<Environment, "FROZEN">): Promise<Environment> {
  const frozen = await freezePrevious();
  onTestFinished(frozen.remove);
  const environment = { ...database, FROZEN: frozen.folder };
  await expectEnded(start(environment, "previous", "migrator"));
  return environment;
}

/** Replaces a receiver and a worker of the previous version while events arrive. Checks that each event was handled exactly once. */
export async function expectRollingRestart(place: Place): Promise<void> {
  const previous = await startBoth(place, "previous");
  await untilBothHandle(place, ["previous"]);
  await expectEnded(start(place.environment, "present", "migrator"));
  const present = await startBoth(place, "present");
  await untilBothHandle(place, ["previous", "present"]);
  const before = await stopReceiver(previous.receiver);
  await stop(previous.worker);
  await untilBothHandle(place, ["present"]);
  await expectNothingLost(place, before.acknowledged, present);
}

/** Starts a process, which is killed at the end of the test, if not before. */
function start(environment: Environment, version: Version, role: "receiver" | "worker" | "migrator"): Run {
  const args = ["--disable-warning=ExperimentalWarning", "test/upgrade/process.ts", version, role];
  return runInTest(args, { ...environment });
}

interface Both {
  readonly receiver: Run;
  readonly worker: Run;
}

/** Starts a receiver and a worker. Resolves once both have checked the database. */
async function startBoth({ environment }: Place, version: Version): Promise<Both> {
  const receiver = start(environment, version, "receiver");
  const worker = start(environment, version, "worker");
  await Promise.all([receiver.line(/^receiver of/), worker.line(/^worker of/)]);
  return { receiver, worker };
}

/** Ends a process cleanly. Resolves to its output. */
async function stop(run: Run): Promise<string> {
  run.child.kill("SIGTERM");
  return await expectEnded(run);
}

async function expectEnded({ ended }: Run): Promise<string> {
  const { code, output } = await ended;
  expect(code, output).toBe(0);
  return output;
}

/** On a quiet machine, no put fails at all; docs/upgrading.md promises less than a second. A busy one may take longer for anything. */
const longestOutageMs = 30_000;

async function stopReceiver(receiver: Run): Promise<Received> {
  const output = await stop(receiver);
  const received = JSON.parse(/^received (.*)$/m.exec(output)?.[1] ?? "") as Received;
  expect(received.longestOutageMs, output).toBeLessThanOrEqual(longestOutageMs);
  return received;
}

/** Waits until the workers of these versions have handled events that were put from now on. */
async function untilBothHandle(place: Place, versions: readonly Version[]): Promise<void> {
  const before = Date.now();
  const working = async () =>
    (await place.effects()).filter(({ began }) => began > before).map(({ version }) => version);
  await expect.poll(async () => [...new Set(await working())]).toEqual(expect.arrayContaining([...versions]));
}

/**
 * Stops the receiver, and the worker once nothing is left. Checks that each acknowledged event was handled exactly once, that no lane
 * was worked by two workers at the same time or out of order, and that the receiver did not fail for long.
 */
async function expectNothingLost(place: Place, before: number, { receiver, worker }: Both): Promise<void> {
  const acknowledged = before + (await stopReceiver(receiver)).acknowledged;
  await expect.poll(() => place.states(), { timeout: 300_000 }).toEqual({ done: acknowledged }); // lanes are slow on a busy machine
  await stop(worker);
  const effects = await place.effects();
  expect(effects).toHaveLength(acknowledged);
  expect(new Set(effects.map(({ event }) => event)).size).toBe(acknowledged);
  for (const lane of Object.values(Object.groupBy(effects, (effect) => effect.lane))) {
    const ordered = (lane ?? []).toSorted((a, b) => a.began - b.began || numberOf(a) - numberOf(b));
    expect(ordered.map(numberOf)).toEqual(ordered.map((_, n) => n));
    for (const [n, { began }] of ordered.entries())
      expect(began).toBeGreaterThanOrEqual(ordered[n - 1]?.ended ?? 0);
  }
}

/** Returns the number of an event in its lane, from 0. */
function numberOf({ event }: Effects["effect"]): number {
  return Number(event.slice(event.lastIndexOf("_") + 1));
}
