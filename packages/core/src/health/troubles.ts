import type { InboxAdmin } from "../store/inbox-admin.ts";
import type { InboxGauges } from "../store/inbox-figures.ts";
import type { Pause } from "../store/pause.ts";
import type { RunNote } from "../store/run-note.ts";
import type { HealthFault } from "./health.ts";

/** The kinds of trouble, stable for programs. docs/observing.md lists the conditions. */
export type TroubleCode =
  | "no_delivery"
  | "deliveries_refused"
  | "deliveries_failed"
  | "ended_key_used"
  | "clock_skew"
  | "backlog_grows"
  | "events_wait"
  | "events_dead"
  | "reconcile_not_run"
  | "type_paused";

/** How to fix each trouble, and which section of docs/runbook.md has the steps. */
export const troubleTable: Readonly<
  Record<TroubleCode, { readonly remedy: string; readonly section: string }>
> = {
  no_delivery: {
    remedy: "Check that the endpoint is active and that its URL reaches the receiver: esim-webhooks doctor.",
    section: "No delivery arrives",
  },
  deliveries_refused: {
    remedy:
      "Give the receiver the endpoint's signing secret. The service does not try again: then reconcile.",
    section: "Deliveries are answered 401",
  },
  deliveries_failed: {
    remedy:
      "Fix what the log names for these outcomes. The service tries each delivery again for 16 hours; reconcile recovers what it has given up.",
    section: "Deliveries are answered 5xx",
  },
  ended_key_used: {
    remedy: "Extend the window of the key, or find out what still signs with it; then reconcile.",
    section: "Deliveries are answered 401",
  },
  clock_skew: {
    remedy: "Set the clock of this machine right, and keep it so with NTP.",
    section: "The clock is wrong",
  },
  backlog_grows: {
    remedy:
      "Start more workers, or raise concurrency; if none takes events, see esim-webhooks inbox workers.",
    section: "Events wait",
  },
  events_wait: {
    remedy: "Check that a worker runs, and that no pause holds their lanes: esim-webhooks doctor.",
    section: "Events wait",
  },
  events_dead: {
    remedy:
      "See why: esim-webhooks inbox errors. Fix the cause and retry them, esim-webhooks inbox retry; or delete them, esim-webhooks inbox discard.",
    section: "Events are dead",
  },
  reconcile_not_run: {
    remedy:
      "Run esim-webhooks reconcile, with --every to repeat it. What was missed is gone from the listing after 7 days.",
    section: "Reconcile does not run",
  },
  type_paused: {
    remedy: "If the reason is gone: esim-webhooks inbox resume.",
    section: "A type is still paused",
  },
};

/** A condition that needs an operator, although every process runs. It holds no id, payload or secret. */
export interface Trouble extends HealthFault {
  /** The kind of trouble. */
  readonly code: TroubleCode;
  /** The subject: a paused type, the reason of dead events, a source that is reconciled, or the fingerprint of a key. */
  readonly subject?: string;
}

/** The part of an inbox that `findTroubles` reads. */
export type TroubleInbox = Pick<InboxAdmin, "gauges" | "paused" | "runs" | "list" | "get">;

/** The limits of `findTroubles` that depend on your traffic. */
export interface TroubleLimits {
  /** The longest time without a delivery that is no trouble, in ms. Default 86,400,000: a day. */
  silenceMs?: number;
}

/** How long something may last before it is a trouble, in ms. */
export const troubleLimits: {
  /** The longest time without a delivery, without a completed pass of reconcile, or until the end of a pause. */
  readonly dayMs: number;
  /** How long the oldest due event may wait. */
  readonly waitMs: number;
} = { dayMs: 86_400_000, waitMs: 15 * 60_000 };

const { dayMs, waitMs } = troubleLimits;
/** How many dead events are read. Operators delete or redrive them in bulk, so the newest ones show the causes. */
const mostDeadRead = 50;

export function troubleOf(code: TroubleCode, problem: string, subject?: string): Trouble {
  return { code, ...(subject !== undefined && { subject }), problem, remedy: troubleTable[code].remedy };
}

/** The gauges of an inbox, and the troubles that its stored data shows, at one time. */
export interface StoredTroubles {
  readonly gauges: InboxGauges;
  readonly troubles: readonly Trouble[];
}

/**
 * Finds the troubles that the data of an inbox shows: `no_delivery`, `events_wait`, `events_dead`, `reconcile_not_run` and `type_paused`.
 * The others need to be watched: see `watchTroubles`. Rejects with the error of an inbox that does not answer.
 */
export async function findTroubles(
  inbox: TroubleInbox,
  limits: TroubleLimits = {},
): Promise<readonly Trouble[]> {
  return (await createInboxLook(inbox, limits)(Date.now())).troubles;
}

/** Makes a function that looks at the inbox. It reads dead events again only if their number has changed, or is capped. */
export function createInboxLook(
  inbox: TroubleInbox,
  { silenceMs = dayMs }: TroubleLimits,
): (atMs: number) => Promise<StoredTroubles> {
  let causes: { readonly dead: number; readonly reasons: readonly string[] } | undefined;

  async function deadReasons({ counts, capped }: InboxGauges): Promise<readonly string[]> {
    const { dead } = counts;
    if (causes?.dead !== dead || capped.includes("dead"))
      causes = { dead, reasons: dead === 0 ? [] : await readReasons(inbox) };
    return causes.reasons;
  }

  return async (atMs) => {
    const [gauges, pauses, runs] = await Promise.all([inbox.gauges(), inbox.paused(), inbox.runs()]);
    const troubles = [
      ...silence(gauges.lastReceivedAt, silenceMs, atMs),
      ...waiting(gauges),
      ...dead(gauges, await deadReasons(gauges)),
      ...unreconciled(runs, atMs),
      ...paused(pauses, atMs),
    ];
    return { gauges, troubles };
  };
}

/** Finds a silence that is too long. `lastAt` is null before the first delivery, for which a new endpoint may still wait. */
export function silence(lastAt: Date | null, silenceMs: number, atMs: number): readonly Trouble[] {
  if (lastAt === null || atMs - lastAt.getTime() <= silenceMs) return [];
  return [troubleOf("no_delivery", `The last delivery was received at ${lastAt.toISOString()}.`)];
}

function waiting({ oldestReadyMs }: InboxGauges): readonly Trouble[] {
  if ((oldestReadyMs ?? 0) <= waitMs) return [];
  return [troubleOf("events_wait", "The oldest due event has waited for more than 15 minutes.")];
}

function dead({ counts, capped }: InboxGauges, reasons: readonly string[]): readonly Trouble[] {
  const total = `${counts.dead}${capped.includes("dead") ? " or more" : ""}`;
  return reasons.map((reason) =>
    troubleOf(
      "events_dead",
      `Events are dead for the reason ${reason}, and are not tried again; the inbox has ${total} dead in all.`,
      reason,
    ),
  );
}

/** Reads the reasons for which the newest dead events are dead. */
async function readReasons(inbox: Pick<InboxAdmin, "list" | "get">): Promise<readonly string[]> {
  const { rows } = await inbox.list({ state: "dead" }, { limit: mostDeadRead });
  const reasons = new Set<string>();
  for (const row of rows) {
    const event = await inbox.get(row);
    if (event?.state === "dead") reasons.add(event.history.at(-1)?.reason ?? "unknown");
  }
  return [...reasons].sort();
}

/** Finds the sources without a completed pass for a day. A source without any pass is not reconciled here, or not yet. */
function unreconciled(runs: readonly RunNote[], atMs: number): readonly Trouble[] {
  const passes = Map.groupBy(
    runs.filter(({ kind }) => kind === "reconcile"),
    ({ source }) => source,
  );
  return Array.from(passes).flatMap(([source, notes]) => {
    const complete = notes.filter(({ outcome }) => outcome === "complete");
    const since =
      complete.length > 0
        ? Math.max(...complete.map(({ endedAt }) => endedAt.getTime()))
        : Math.min(...notes.map(({ startedAt }) => startedAt.getTime()));
    if (atMs - since <= dayMs) return [];
    const problem = `No pass of reconcile has completed since ${new Date(since).toISOString()}.`;
    return [troubleOf("reconcile_not_run", problem, source)];
  });
}

function paused(pauses: readonly Pause[], atMs: number): readonly Trouble[] {
  return pauses.flatMap(({ type, since }) => {
    if (atMs - since.getTime() <= dayMs) return [];
    const name = type ?? "all";
    return [
      troubleOf("type_paused", `Events of the type ${name} are paused since ${since.toISOString()}.`, name),
    ];
  });
}
