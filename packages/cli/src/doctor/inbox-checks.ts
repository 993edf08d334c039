import type { InboxAdmin, InboxGauges, Pause, WorkerPresence } from "@esim-webhooks/core";
import { findTroubles, troubleLimits, troubleTable } from "@esim-webhooks/core/health";
import { ago, instant, span } from "@esim-webhooks/core/internal";
import { printable } from "@esim-webhooks/core/log-lines";
import { pauseText, resumeCommand } from "../inbox/pause-text.ts";
import { pendingEvents } from "../set-up/gauge-sum.ts";
import { count, counted, countedSoFar, countSoFar } from "../terminal/quantities.ts";
import { type Check, check, failed, passed, warned } from "./check.ts";

/** Checks what waits in the inbox, what is paused, who works, and what is dead. */
export async function checkInbox(inbox: InboxAdmin, hasHandlers: boolean): Promise<readonly Check[]> {
  return [
    await check("waiting", () => checkWaiting(inbox, hasHandlers)),
    await check("paused", async () => checkPauses(await inbox.paused(), Date.now())),
    await check("workers", async () => checkWorkers(await inbox.workers(), await inbox.gauges(), Date.now())),
    await check("dead", () => checkDead(inbox)),
  ];
}

/**
 * The limits of two checks. If a due event waits longer than `waitMs`, no worker runs, or all are too slow. A pause longer than `dayMs`
 * may have been forgotten.
 */
const { waitMs: longestWaitMs, dayMs: longestPauseMs } = troubleLimits;

/** Says what waits in the inbox. Fails when the oldest event that a worker could take has been due for too long. */
export async function checkWaiting(inbox: Pick<InboxAdmin, "gauges">, hasHandlers: boolean): Promise<Check> {
  const gauges = await inbox.gauges();
  const found = summary(gauges);
  if ((gauges.oldestReadyMs ?? 0) <= longestWaitMs) return passed("waiting", found);
  const remedy = hasHandlers
    ? "Check the line `workers`. If none runs: esim-webhooks work."
    : "Add handlers to a config file, and run esim-webhooks work.";
  return failed("waiting", `${found}. ${remedy}`, "events_wait");
}

function summary(gauges: InboxGauges): string {
  const { counts, capped, oldestReadyMs } = gauges;
  const { waiting, blocked, paused, unhandled } = counts;
  const { value, isMore } = pendingEvents(gauges);
  return [
    value === 0 ? "no event waits" : countedSoFar(value, "event waits", "events wait", isMore),
    ...(waiting > 0
      ? [
          `${countSoFar(waiting, capped.includes("waiting"))} of them for another attempt (esim-webhooks inbox errors)`,
        ]
      : []),
    ...(blocked > 0
      ? [`${countSoFar(blocked, capped.includes("blocked"))} behind others of their lanes`]
      : []),
    ...(paused > 0 ? [`${countSoFar(paused, capped.includes("paused"))} paused`] : []),
    ...(oldestReadyMs === null ? [] : [`the oldest has been due for ${span(oldestReadyMs)}`]),
    ...(unhandled > 0
      ? [
          `${countSoFar(unhandled, capped.includes("unhandled"))} unhandled: once there are handlers, esim-webhooks inbox retry --status unhandled`,
        ]
      : []),
  ].join("; ");
}

/** Says what is paused. Warns when a pause has lasted for more than a day. */
export function checkPauses(pauses: readonly Pause[], now: number): Check {
  if (pauses.length === 0) return passed("paused", "nothing is paused");
  const found = pauses.map((pause) => pauseText(pause, now)).join("; ");
  const forgotten = pauses.filter(({ since }) => now - since.getTime() > longestPauseMs);
  if (forgotten.length === 0) return passed("paused", found);
  return warned(
    "paused",
    `${found}. ${forgotten.length === 1 ? "A pause has" : `${forgotten.length} pauses have`} lasted for more than a day. If the reason is gone: ${resumeCommand(forgotten)}`,
    "type_paused",
  );
}

/** A worker with a free slot polls more often, also while nothing is due. */
const longestTakeMs = 60_000;

/** Says how many workers run. Warns when events have been due for a minute and no worker runs, or none has polled in that time. */
export function checkWorkers(
  workers: readonly WorkerPresence[],
  { oldestReadyMs }: Pick<InboxGauges, "oldestReadyMs">,
  now: number,
): Check {
  const found = workers.length === 0 ? "none has reported in the last 30 s" : workersText(workers);
  if ((oldestReadyMs ?? 0) <= longestTakeMs) return passed("workers", found);
  if (workers.length === 0)
    return warned(
      "workers",
      "No worker has reported in the last 30 s, and events are due. Start esim-webhooks work.",
    );
  const takes = workers.some(({ running, lastTakeAt }) =>
    running === null // its engine does not report takes
      ? true
      : lastTakeAt !== null && now - lastTakeAt.getTime() <= longestTakeMs,
  );
  if (takes) return passed("workers", found);
  return warned(
    "workers",
    `${found}; no worker has polled the inbox for a minute, and events are due: handlers hang or are too slow. List them: esim-webhooks inbox workers; esim-webhooks inbox list --status leased; if they have timed out, esim-webhooks inbox errors. Then restart the workers, with a time limit (timeoutMs).`,
  );
}

/** How many workers there are, and how many slots are in use, of the workers that report them. */
function workersText(workers: readonly WorkerPresence[]): string {
  const alive = counted(workers.length, "worker is alive", "workers are alive");
  const known = workers.flatMap(({ running, concurrency }) =>
    running === null || concurrency === null ? [] : [{ running, concurrency }],
  );
  if (known.length === 0) return alive;
  const running = known.reduce((sum, worker) => sum + worker.running, 0);
  const slots = known.reduce((sum, worker) => sum + worker.concurrency, 0);
  return `${alive}; ${count(running)} of ${counted(slots, "slot")} in use`;
}

const remedy = "Check that the endpoint is active and that its URL reaches the receiver";

/** Warns when no delivery was received yet, or none for `silenceMs`: no failure, since a small partner may have quiet days. */
export async function checkSilence(
  inbox: Pick<InboxAdmin, "gauges">,
  silenceMs: number,
  now: number = Date.now(),
): Promise<Check> {
  const { lastReceivedAt } = await inbox.gauges();
  if (lastReceivedAt === null)
    return warned(
      "silence",
      `The inbox is new, or was just updated, and has received no delivery since. ${remedy}.`,
    );
  if (now - lastReceivedAt.getTime() <= silenceMs)
    return passed("silence", `the last delivery was received ${ago(lastReceivedAt, now)}`);
  return warned(
    "silence",
    `The last delivery was received at ${instant(lastReceivedAt)}, more than ${span(silenceMs)} ago. ${remedy}. If such gaps are normal, raise --silence.`,
    "no_delivery",
  );
}

/** Fails while the inbox has dead events: they are not tried again unless an operator redrives them. */
async function checkDead(inbox: InboxAdmin): Promise<Check> {
  const { counts, capped } = await inbox.gauges();
  const { dead } = counts;
  if (dead === 0) return passed("dead", "no event is dead");
  const found = await findTroubles(inbox);
  const reasons = found.flatMap(({ code, subject }) => (code === "events_dead" && subject ? [subject] : []));
  const total = countedSoFar(dead, "event is", "events are", capped.includes("dead"));
  return failed(
    "dead",
    `${total} dead and not tried again (${reasons.join(", ")}). ${troubleTable.events_dead.remedy}`,
    "events_dead",
  );
}

/** Warns when the inbox has notes of reconcile passes, and a source has had no completed pass for a day. Needs no API, unlike the check `reconcile`. */
export async function checkPasses(inbox: InboxAdmin): Promise<Check> {
  const found = (await findTroubles(inbox)).filter(({ code }) => code === "reconcile_not_run");
  if (found.length > 0) {
    const text = found.map(({ subject, problem }) => `${printable(subject ?? "")}: ${problem}`).join(" ");
    return warned("passes", `${text} ${troubleTable.reconcile_not_run.remedy}`, "reconcile_not_run");
  }
  const last = (await inbox.runs()).find(
    ({ kind, outcome }) => kind === "reconcile" && outcome === "complete",
  );
  if (last === undefined) return passed("passes", "no pass is noted in this inbox");
  return passed("passes", `the last pass completed ${ago(last.endedAt, Date.now())}`);
}
