import { setTimeout as pause } from "node:timers/promises";
import { eraseSubject } from "@esim-webhooks/core";
import { entry, key } from "../../test/inbox-entry.ts";
import type { OperatedInbox } from "../../test/operators/engines.ts";
import { esimOf, eventOf, idOf } from "./events.ts";
import { within } from "./fleet.ts";

/** Everything that the processes of a fleet have said, by event. */
export interface Said {
  /** When each event was acknowledged first, in epoch ms. */
  readonly acknowledged: ReadonlyMap<string, number>;
  /** When each event's handler began, and when it ended, in epoch ms. */
  readonly began: ReadonlyMap<string, readonly number[]>;
  readonly handled: ReadonlyMap<string, readonly number[]>;
  /** The claims that have completed each event. */
  readonly completed: ReadonlyMap<string, ReadonlySet<string>>;
  /** Every answer that was neither an acknowledgement nor 503, nor a connection error, nor the 500 of a handler that fails on purpose. */
  readonly refused: readonly string[];
  /** When an operator last began to erase each eSIM, in epoch ms. */
  readonly erased: ReadonlyMap<string, number>;
  /** The operations that succeeded at least once. */
  readonly operated: ReadonlySet<string>;
  /** The slowest answer to a delivery. */
  readonly slowestMs: number;
  /** The slowest call of a dedupe store. */
  readonly slowestCallMs: number;
}

export function heard(lines: readonly string[]): Said {
  const acknowledged = new Map<string, number>();
  const [began, handled] = [new Map<string, number[]>(), new Map<string, number[]>()];
  const completed = new Map<string, Set<string>>();
  const refused: string[] = [];
  const erased = new Map<string, number>();
  const operated = new Set<string>();
  let [slowestMs, slowestCallMs] = [0, 0];
  for (const line of lines) {
    const [word, id = "", at] = line.split(" ");
    if (word === "acknowledged")
      acknowledged.set(id, Math.min(Number(at), acknowledged.get(id) ?? Number.POSITIVE_INFINITY));
    if (word === "began") began.set(id, [...(began.get(id) ?? []), Number(at)]);
    if (word === "handled") handled.set(id, [...(handled.get(id) ?? []), Number(at)]);
    if (word === "completed") completed.set(id, new Set(completed.get(id)).add(String(at)));
    if (word === "refused" && at !== "0") refused.push(`${id} was answered ${at}`);
    if (word === "erasing") erased.set(id, Math.max(Number(at), erased.get(id) ?? 0));
    if (word === "operated") operated.add(id);
    if (word !== "slowest") continue;
    slowestMs = Math.max(slowestMs, Number(id));
    slowestCallMs = Math.max(slowestCallMs, Number(at));
  }
  return { acknowledged, began, handled, completed, refused, erased, operated, slowestMs, slowestCallMs };
}

const settledWithinMs = 300_000;

/** Resolves once no event waits for a worker. Before each look, `nudge` does what an operator would. */
export function untilSettled(inbox: OperatedInbox, nudge: () => Promise<unknown>): Promise<void> {
  const settling = async () => {
    for (;;) {
      await nudge();
      const { ready, leased, dead } = (await inbox.stats()).states;
      if (ready + leased + dead === 0) return;
      await pause(200);
    }
  };
  return within(settledWithinMs, "settles every event", settling());
}

/** The events that an inbox does not have. */
export async function missingIn(inbox: OperatedInbox, ids: Iterable<string>): Promise<string[]> {
  const missing: string[] = [];
  for (const id of ids) if ((await inbox.get(key(id))) === undefined) missing.push(id);
  return missing;
}

/** The erased events that an inbox would store again. */
export async function forgottenIn(
  inbox: OperatedInbox,
  esims: readonly string[],
  events: number,
): Promise<string[]> {
  for (const esim of esims) await eraseSubject(inbox, esim);
  const ids = Array.from({ length: events }, (_, n) => idOf(n)).filter((id) => esims.includes(esimOf(id)));
  const forgotten: string[] = [];
  for (const id of ids) {
    const { type, timestamp } = eventOf(id);
    const [result] = await inbox.put([entry(id, { type, timestamp, esim: esimOf(id) })]);
    if (result === "stored") forgotten.push(id);
  }
  return forgotten;
}

/** The items that are in a list more than once. */
export function repeated(items: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  return [...counts].filter(([, count]) => count > 1).map(([item]) => item);
}
