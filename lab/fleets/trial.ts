import type { OperatedInbox } from "../../test/operators/engines.ts";
import type { EngineName } from "../engines.ts";
import type { Random } from "../simulation/random.ts";
import { openInbox, type Task } from "./engines.ts";
import { erasedEsims, esimOf, operations } from "./events.ts";
import { forgottenIn, heard, missingIn, repeated, type Said, untilSettled } from "./findings.ts";
import { type Fleet, type Prefix, type Role, startFleet } from "./fleet.ts";
import type { Figures } from "./scenario.ts";
import type { TrialEngine } from "./trial-engines.ts";

/** A fleet that works an inbox while faults strike it. */
export interface Trial {
  readonly engine: TrialEngine;
  readonly task: Task;
  readonly prefixes?: readonly Prefix[];
  /** Whether operators pause, redrive and erase as well. */
  readonly hasOperators?: true;
  /** Strikes while events are sent. */
  faults(fleet: Fleet): Promise<void>;
  /** Looks for acknowledged events that are missing, and brings them back. Default: none may be missing. */
  recover?(
    inbox: OperatedInbox,
    missing: readonly string[],
    acknowledged: ReadonlyMap<string, number>,
  ): Promise<string[]>;
}

const concurrency = 10; // of each worker

export const usualTask = (engine: EngineName, place: string, seed: string): Task => ({
  ...{ engine, place, seed, isInline: engine === "redis", timeoutMs: 1500, leaseMs: 2000, waitReplicas: 0 },
  ...{ events: 300, overMs: 8000, failEvery: 0 },
});

/** Runs a trial on an inbox, and replays its history. */
export async function tryInbox(trial: Trial, random: Random): Promise<Figures> {
  const { engine, task, hasOperators } = trial;
  const roles: readonly Role[] = hasOperators ? ["receive", "work", "operate"] : ["receive", "work"];
  const fleet = await startFleet(task, roles, random, trial.prefixes);
  const inbox = openInbox({ ...task, timeoutMs: 60_000 });
  const broken: string[] = [];
  try {
    await trial.faults(fleet);
    await fleet.delivered();
    if (hasOperators) await fleet.end("operate");
    const { acknowledged, ...before } = heard(fleet.said());
    const kept = keptBy({ acknowledged, ...before }, task);
    const missing = await missingIn(inbox, kept);
    if (trial.recover !== undefined) broken.push(...(await trial.recover(inbox, missing, acknowledged)));
    else broken.push(...missing.map((id) => `${id} was acknowledged, and is lost`));
    await untilSettled(inbox, async () => {
      if (!hasOperators) return;
      await inbox.resume();
      await inbox.redrive({ state: "dead" });
    });
    const said = heard(await fleet.stop());
    const missingAtEnd = await missingIn(inbox, kept);
    broken.push(...missingAtEnd.map((id) => `${id} was acknowledged, and is not in the inbox at the end`));
    if (hasOperators)
      for (const id of await forgottenIn(inbox, erasedEsims, task.events))
        broken.push(`${id} was erased, and is stored again by a redelivery`);
    const { seen, unknown } = await engine.history();
    // an operation may wait for a check of the server first
    broken.push(...unknown, ...said.refused, ...tooLate(said, 2 * task.timeoutMs));
    const twice = await handledTwice(engine, said, kept, fleet.interruptions(), broken);
    for (const operation of operations)
      if (hasOperators && !said.operated.has(operation))
        broken.push(`no ${operation} of an operator succeeded`);
    return {
      ...{ sent: task.events, acknowledged: acknowledged.size, faults: fleet.faults(), broken },
      lost: missing.length,
      ...{ handledTwice: twice, forbidden: unknown.length, slowestMs: said.slowestMs },
      note: `${seen.get("lease end") ?? 0} leases ended`,
    };
  } finally {
    fleet.close();
    await inbox.close();
    await engine.close();
  }
}

/** The acknowledged events that no operator can have erased: none erased their eSIM later. */
function keptBy({ acknowledged, erased }: Said, { timeoutMs }: Task): string[] {
  const latestMs = 4 * timeoutMs; // an erasure that began before may end after the acknowledgement, and makes two calls or more
  return [...acknowledged]
    .filter(([id, at]) => !((erased.get(esimOf(id)) ?? 0) > at - latestMs))
    .map(([id]) => id);
}

/** How late a process on a busy machine may be. */
const busyMs = 6000;

/** No answer takes longer than its limits together. */
export function tooLate({ slowestMs }: Said, limitsMs: number): string[] {
  const mostMs = limitsMs + busyMs;
  return slowestMs <= mostMs ? [] : [`an answer took ${slowestMs} ms, and ${mostMs} ms is the most`];
}

async function handledTwice(
  engine: TrialEngine,
  { handled }: Said,
  kept: readonly string[],
  interruptions: number,
  broken: string[],
): Promise<number> {
  const effects = await engine.effects?.();
  const done = new Set(effects ?? handled.keys());
  for (const id of kept) if (!done.has(id)) broken.push(`${id} was acknowledged, and has no effect`);
  if (effects !== undefined) {
    const twice = repeated(effects);
    broken.push(...twice.map((id) => `${id} has its effect twice`));
    return twice.length;
  }
  const twice = [...handled.values()].filter((ends) => ends.length > 1).length;
  const most = interruptions * concurrency;
  if (twice > most)
    broken.push(
      `${twice} events were handled twice, and ${interruptions} interrupted workers explain ${most}`,
    );
  return twice;
}
