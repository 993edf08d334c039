import { key } from "../../test/inbox-entry.ts";
import type { Random } from "../simulation/random.ts";
import { openStore, type Task } from "./engines.ts";
import { heard, repeated, type Said } from "./findings.ts";
import { type Fleet, type Prefix, startFleet } from "./fleet.ts";
import type { Figures } from "./scenario.ts";
import { tooLate } from "./trial.ts";

/** Receivers that handle events inline, with the ids in a dedupe store, while faults strike them. */
export interface StoreTrial {
  readonly task: Task;
  readonly prefixes?: readonly Prefix[];
  /** The event of each effect that a handler has written with `context.tx`, where there are any. */
  readonly effects?: (() => Promise<readonly string[]>) | undefined;
  /** Whether receivers are frozen, so that an answer may take any time. */
  readonly isFrozen?: true;
  /** Strikes while events are sent. */
  faults(fleet: Fleet): Promise<void>;
  /** The forgotten ids that may not be, as sentences. Default: all. */
  unexplained?(forgotten: readonly string[], acknowledged: ReadonlyMap<string, number>): readonly string[];
  close(): Promise<unknown>;
}

/** Longer than the store is unreachable: when a claim ends meanwhile, another process may handle its event as well. */
export const longLeaseMs = 12_000;

/** The lines of two processes may be this much late. */
const lateMs = 1000;

export async function tryStore(trial: StoreTrial, random: Random): Promise<Figures> {
  const { task } = trial;
  const {
    unexplained = (forgotten) =>
      forgotten.map((id) => `${id} was acknowledged, and is forgotten or was handled again`),
  } = trial;
  const fleet = await startFleet(task, ["receive"], random, trial.prefixes);
  try {
    await trial.faults(fleet);
    await fleet.delivered();
    const said = heard(await fleet.stop());
    const { acknowledged, began, handled, completed, slowestMs } = said;
    const forgotten = await forgottenBy({ ...task, timeoutMs: 60_000 }, acknowledged.keys());
    const again = [...began]
      .filter(
        ([id, starts]) => Math.max(...starts) > (acknowledged.get(id) ?? Number.POSITIVE_INFINITY) + lateMs,
      )
      .map(([id]) => id);
    const overlapping = [...handled.values()].filter((ends) => ends.length > 1).length;
    const completedTwice = [...completed].filter(([, claims]) => claims.size > 1).map(([id]) => id);
    const effects = await trial.effects?.();
    const done = new Set(effects ?? handled.keys());
    const unhandled = [...acknowledged.keys()].filter((id) => !done.has(id));
    const broken = [
      ...unexplained([...new Set([...forgotten, ...again])], acknowledged),
      ...(trial.unexplained === undefined ? completedTwice : []).map(
        (id) => `${id} was completed by two claims`, // one of them was lost, unless the store may forget
      ),
      ...unhandled.map((id) => `${id} was acknowledged, and has no effect`),
      ...repeated(effects ?? []).map((id) => `${id} has its effect twice`),
      ...said.refused,
      // a receiver repeats the mark of an event that was handled until its claim ends
      ...(trial.isFrozen ? [] : [...tooLate(said, task.leaseMs), ...callsTooLate(said, task.timeoutMs)]),
    ];
    return {
      ...{ sent: task.events, acknowledged: acknowledged.size, faults: fleet.faults(), broken },
      ...{ lost: forgotten.length, handledTwice: again.length, forbidden: 0, slowestMs },
      note: `${overlapping} handled more than once`,
    };
  } finally {
    fleet.close();
    await trial.close();
  }
}

/** How late a process on a busy machine may notice the end of a time limit. Without the limit, a call takes as long as the network is cut. */
const noticedMs = 4000;

function callsTooLate({ slowestCallMs }: Said, timeoutMs: number): string[] {
  if (slowestCallMs <= timeoutMs + noticedMs) return [];
  return [`a call of the store took ${slowestCallMs} ms, and its time limit is ${timeoutMs} ms`];
}

/** The ids that the store no longer has as done. */
async function forgottenBy(task: Task, ids: Iterable<string>): Promise<string[]> {
  const store = openStore({ ...task, waitReplicas: 0 });
  try {
    const forgotten: string[] = [];
    for (const id of ids) if ((await store.claim(key(id), 1000)).status !== "done") forgotten.push(id);
    return forgotten;
  } finally {
    await store.close();
  }
}
