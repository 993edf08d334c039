import { createKeyring, type InboxAdmin, type InboxRow } from "@esim-webhooks/core";
import { causeOf, dateTimeMs, groupByError } from "@esim-webhooks/core/internal";
import { pauseView, runView, timeOf } from "./rows.ts";
import type { Settings } from "./settings.ts";
import type { Cause, Gauges, KeyView, Now, WorkerView } from "./views.ts";

const mostDead = 1000;

export async function gauges({ inbox }: Settings): Promise<Gauges> {
  const { counts, capped, oldestReadyMs, lastReceivedAt } = await inbox.gauges();
  return {
    at: new Date().toISOString(),
    counts,
    capped,
    oldestDueMs: oldestReadyMs,
    lastDeliveryAt: timeOf(lastReceivedAt),
  };
}

/** The state of the inbox, without its gauges. Each of its parts is bounded. */
export async function now({ inbox, keys }: Settings): Promise<Now> {
  const [workers, pauses, runs, minutes, dead, usedKeys] = await Promise.all([
    inbox.workers(),
    inbox.paused(),
    inbox.runs(),
    inbox.minutes(),
    inbox.list({ state: "dead" }, { limit: mostDead }),
    keysInUse(inbox, keys),
  ]);
  const lastPass = runs.find(({ kind }) => kind === "reconcile");
  return {
    lastPass: lastPass === undefined ? null : runView(lastPass),
    pauses: pauses.map(pauseView),
    workers: workers.map(workerView),
    deadCauses: await causesOf(dead.rows),
    deadSearched: dead.rows.length,
    keys: usedKeys,
    minutes:
      minutes.length === 0 ? null : minutes.map(({ at, ...counts }) => ({ at: at.toISOString(), ...counts })),
  };
}

function workerView(worker: Awaited<ReturnType<InboxAdmin["workers"]>>[number]): WorkerView {
  const { startedAt, lastTakeAt, seenAt, ...same } = worker;
  return {
    ...same,
    startedAt: startedAt.toISOString(),
    lastTakeAt: timeOf(lastTakeAt),
    seenAt: seenAt.toISOString(),
  };
}

const hourMs = 3_600_000;

async function causesOf(rows: readonly InboxRow[]): Promise<Cause[]> {
  const groups = await groupByError([rows]);
  const now = Date.now();
  const died = Map.groupBy(rows, ({ error }) => causeOf(error));
  return groups.map(({ error, count, types, oldest, newest }) => {
    const hours = (died.get(error) ?? []).map(({ settledAt }) =>
      settledAt === null ? null : Math.floor((now - settledAt.getTime()) / hourMs),
    );
    return {
      error,
      count,
      types,
      oldestAt: timeOf(oldest),
      newestAt: timeOf(newest),
      lastHour: hours.filter((hour) => hour !== null && hour < 1).length,
      hourBefore: hours.filter((hour) => hour === 1).length,
    };
  });
}

const mostRead = 10;

/** The keys of the key store, and those that verified the newest events. Null: none is known. */
async function keysInUse(inbox: InboxAdmin, keys: Settings["keys"]): Promise<readonly KeyView[] | null> {
  const [stored, used] = await Promise.all([keys?.read(), keysOfNewest(inbox)]);
  const known = (stored?.record.keys ?? []).map((key): KeyView => {
    const { secret, notAfter } = typeof key === "string" ? { secret: key } : key;
    const fingerprint = createKeyring([secret]).keysAt(Date.now())[0]?.fingerprint ?? "";
    const validUntil = notAfter === undefined ? null : new Date(dateTimeMs(notAfter)).toISOString();
    return { key: fingerprint, validUntil, lastUsedAt: used.get(fingerprint) ?? null };
  });
  const others = [...used]
    .filter(([key]) => !known.some((each) => each.key === key))
    .map(([key, lastUsedAt]): KeyView => ({ key, validUntil: null, lastUsedAt }));
  return known.length + others.length === 0 ? null : [...known, ...others];
}

/** The keys that verified the newest events, each with the time of the newest event that it verified. */
async function keysOfNewest(inbox: InboxAdmin): Promise<ReadonlyMap<string, string | null>> {
  const { rows } = await inbox.list({}, { limit: mostRead });
  const events = await Promise.all(rows.map((row) => inbox.get(row)));
  const used = new Map<string, string | null>();
  for (const event of events)
    if (event?.key && !used.has(event.key)) used.set(event.key, timeOf(event.receivedAt));
  return used;
}
