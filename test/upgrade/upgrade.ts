import { expect, onTestFinished } from "vitest";
import { type Run, runNode } from "../run.ts";
import type { Version } from "./packages.ts";
import type { Effects, Received } from "./process.ts";

/** A database in which processes of two versions meet. */
export interface Place {
  readonly environment: { readonly STORE: "postgres" | "sqlite"; readonly PLACE: string };
  effects(): Promise<Effects["effect"][]>;
  /** How many events there are in each state, without those that `fill` has made. */
  states(): Promise<Record<string, number>>;
}

/** Starts a process, which is killed at the end of the test, if not before. */
export function start(
  place: Place,
  version: Version,
  role: "receiver" | "worker" | "migrator",
  environment: Record<string, string> = {},
): Run {
  const run = runNode(["--disable-warning=ExperimentalWarning", "test/upgrade/process.ts", version, role], {
    ...place.environment,
    ...environment,
  });
  onTestFinished(() => void run.child.kill("SIGKILL"));
  return run;
}

/** Starts a receiver and a worker. Resolves once both have checked the database. */
export async function startBoth(
  place: Place,
  version: Version,
  environment: Record<string, string> = {},
): Promise<{ readonly receiver: Run; readonly worker: Run }> {
  const receiver = start(place, version, "receiver", environment);
  const worker = start(place, version, "worker", environment);
  await Promise.all([receiver.line(/^receiver of/), worker.line(/^worker of/)]);
  return { receiver, worker };
}

/** Ends a process cleanly. Resolves to its output. */
export async function stop({ child, ended }: Run): Promise<string> {
  child.kill("SIGTERM");
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
export async function untilBothHandle(place: Place, versions: readonly Version[]): Promise<void> {
  const before = Date.now();
  const working = async () =>
    (await place.effects()).filter(({ began }) => began > before).map(({ version }) => version);
  await expect.poll(async () => [...new Set(await working())]).toEqual(expect.arrayContaining([...versions]));
}

/**
 * Stops the receivers, and the workers once nothing is left. Checks that each acknowledged event was handled exactly once, that no lane
 * was worked by two at the same time or out of order, and that no receiver failed for long. Resolves to what the
 * receivers have seen.
 */
export async function expectNothingLost(
  place: Place,
  receivers: readonly Run[],
  workers: readonly Run[],
): Promise<readonly Received[]> {
  const received = await Promise.all(receivers.map(stopReceiver));
  const acknowledged = received.reduce((sum, one) => sum + one.acknowledged, 0);
  await expect.poll(() => place.states(), { timeout: 900_000 }).toEqual({ done: acknowledged }); // lanes are slow on a busy machine
  await Promise.all(workers.map(stop));
  const effects = await place.effects();
  expect(effects).toHaveLength(acknowledged);
  expect(new Set(effects.map(({ event }) => event)).size).toBe(acknowledged);
  for (const lane of Object.values(Object.groupBy(effects, (effect) => effect.lane))) {
    const ordered = (lane ?? []).toSorted((a, b) => a.began - b.began || numberOf(a) - numberOf(b));
    expect(ordered.map(numberOf)).toEqual(ordered.map((_, n) => n));
    for (const [n, { began }] of ordered.entries())
      expect(began).toBeGreaterThanOrEqual(ordered[n - 1]?.ended ?? 0);
  }
  return received;
}

/** Which event of its lane it is, from 0. */
function numberOf({ event }: Effects["effect"]): number {
  return Number(event.slice(event.lastIndexOf("_") + 1));
}
