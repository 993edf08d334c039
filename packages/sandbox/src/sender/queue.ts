import type { Service } from "../base/service.ts";
import type { Switches } from "../base/switches.ts";
import { retentionMs } from "../webhook/deliveries.ts";
import type { Answer, Attempt } from "./attempt.ts";

/** An active endpoint to which something is due. */
export interface DueEndpoint {
  readonly sequence: number;
  readonly url: string;
  readonly signingSecret: string;
  readonly previousSecret: string | null;
}

export function dueEndpoints({ db }: Service, now: number): DueEndpoint[] {
  return db.all<DueEndpoint>(
    `select sequence, url, signingSecret, previousSecret from endpoints where active = 1 and exists
       (select 1 from deliveries where endpointSequence = endpoints.sequence and dueAt <= ?)`,
    now,
  );
}

/** The attempts that are due to an endpoint, the longest due first. */
export function dueAttempts({ db }: Service, endpoint: DueEndpoint, now: number, limit: number): Attempt[] {
  const { sequence, ...secretsAndUrl } = endpoint;
  return db
    .all<Omit<Attempt, keyof typeof secretsAndUrl>>(
      `select deliveries.sequence, endpointSequence, attemptNumber + 1 as number, deliveries.eventId, eventType,
         coalesce(faultedBody, body) as body, deliveries.createdAt, dueAt, held
       from deliveries join events on events.sequence = eventSequence
       where endpointSequence = ? and dueAt <= ? order by dueAt, deliveries.sequence limit ?`,
      sequence,
      now,
      limit,
    )
    .map((row) => ({ ...row, ...secretsAndUrl }));
}

/** When the next attempt to an active endpoint is due after `now`. */
export function nextDueAt({ db }: Service, now: number): number | undefined {
  const row = db.get<{ dueAt: number | null }>(
    `select min((select min(dueAt) from deliveries where endpointSequence = endpoints.sequence and dueAt > ?))
       as dueAt from endpoints where active = 1`,
    now,
  );
  return row?.dueAt ?? undefined;
}

/** Records that the attempt begins. From now on, it is one of the delivery's attempts. */
export function markSending({ db, clock }: Service, { sequence, number }: Attempt): void {
  db.run(
    "update deliveries set status = 'sending', attemptNumber = ?, sentAt = ?, dueAt = null, held = 0 where sequence = ?",
    number,
    clock.now(),
    sequence,
  );
}

/**
 * Writes the delivery's new status after an attempt's answer, and returns it. Changes nothing if the delivery, or its endpoint, has been
 * deleted meanwhile.
 */
export function settleAttempt(
  { db, clock, switches }: Service,
  { sequence, number }: Attempt,
  answer: Answer,
): Settlement {
  const now = clock.now();
  const settlement = settlementOf(answer, number, switches);
  const retryAfterMs = settlement.status === "failed" ? settlement.retryAfterMs : null;
  db.run(
    "update deliveries set status = ?, dueAt = ?, deliveredAt = ?, httpStatus = ?, responseBody = ? where sequence = ?",
    settlement.status,
    retryAfterMs === null ? null : now + retryAfterMs,
    settlement.status === "delivered" ? now : null,
    answer.httpStatus,
    answer.responseBody,
    sequence,
  );
  return settlement;
}

/** Holds the delivery until it is overtaken, or `waitMs` have passed: the fault `reorder`. */
export function hold({ db, clock }: Service, { sequence }: Attempt, waitMs: number): void {
  db.run("update deliveries set held = 1, dueAt = ? where sequence = ?", clock.now() + waitMs, sequence);
}

/** Makes the older deliveries that are held due: the attempt, to the same endpoint, has ended and so overtaken them. */
export function overtake({ db, clock }: Service, { sequence, endpointSequence }: Attempt): void {
  db.run(
    "update deliveries set dueAt = ? where held = 1 and endpointSequence = ? and sequence < ?",
    clock.now(),
    endpointSequence,
    sequence,
  );
}

/** From now on, all attempts of the delivery have this body. */
export function changeBody({ db }: Service, sequence: number, body: string): void {
  db.run("update deliveries set faultedBody = ? where sequence = ?", body, sequence);
}

/** Makes the attempts due that an earlier process has not finished. They keep their numbers. */
export function recover({ db, clock }: Service): void {
  db.run(
    `update deliveries set status = case attemptNumber when 1 then 'pending' else 'failed' end,
       attemptNumber = attemptNumber - 1, dueAt = ? where status = 'sending'`,
    clock.now(),
  );
}

/** Whether an attempt that was due at `now`, of a delivery up to `last` to an active endpoint, has not begun. */
export function someAreDue({ db }: Service, now: number, last: number): boolean {
  const row = db.get(
    `select 1 from endpoints where active = 1 and exists
       (select 1 from deliveries where endpointSequence = endpoints.sequence and dueAt <= ? and sequence <= ?)`,
    now,
    last,
  );
  return row !== undefined;
}

/** The number of the newest delivery. */
export function newestDelivery({ db }: Service): number {
  const row = db.get<{ newest: number | null }>("select max(sequence) as newest from deliveries");
  return row?.newest ?? 0;
}

/** Whether one of the deliveries after `first`, up to `last`, is on its first attempt, or about to be. */
export function someAreNew({ db, clock }: Service, first: number, last: number): boolean {
  const row = db.get(
    `select 1 from deliveries join endpoints on endpoints.sequence = endpointSequence
     where deliveries.sequence > ? and deliveries.sequence <= ? and attemptNumber = (status = 'sending')
       and (status = 'sending' or (status = 'pending' and dueAt <= ? and active = 1)) limit 1`,
    first,
    last,
    clock.now(),
  );
  return row !== undefined;
}

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/** The delay before each attempt, after the end of the one before: ms on the service's clock. 15 h 51 min 30 s together. */
const delaysMs: readonly number[] = [
  0,
  30 * second,
  minute,
  5 * minute,
  15 * minute,
  30 * minute,
  hour,
  2 * hour,
  4 * hour,
  8 * hour,
];

/** The status that an attempt gives its delivery. */
export type Settlement =
  | { readonly status: "delivered" }
  | { readonly status: "failed"; readonly retryAfterMs: number | null }
  | { readonly status: "exhausted" };

/**
 * 5xx, 408 and no answer are tried again, up to ten attempts. Any other answer ends the delivery: a 2xx as delivered.
 * @param attempt 1 for the first one
 */
function settlementOf(answer: Answer, attempt: number, switches: Switches): Settlement {
  const { httpStatus: status } = answer;
  if (status !== null && status >= 200 && status < 300) return { status: "delivered" };
  if (status === null || status >= 500 || status === 408) {
    const retryAfterMs = delaysMs[attempt];
    return retryAfterMs === undefined ? { status: "exhausted" } : { status: "failed", retryAfterMs };
  }
  return switches.nonRetryable === "exhausted"
    ? { status: "exhausted" }
    : { status: "failed", retryAfterMs: null };
}

const sliceSize = 200;

/** How many of the newest events, and of the newest deliveries, are kept. If there are more, the oldest go before their 7 days have passed: memory is limited. */
const keptRows = 1_000_000;

/** Forgets a few of the events and deliveries that are older than 7 days or beyond the bound. Returns whether there may be more. */
export function forgetSlice({ db, clock }: Service, kept: number = keptRows): boolean {
  const forgotten =
    db.run(
      `delete from events where sequence in
         (select sequence from events where createdAt < ? order by createdAt limit ${sliceSize})`,
      clock.now() - retentionMs,
    ) +
    db.run(
      `delete from events where sequence in (select sequence from events
         where sequence <= (select max(sequence) from events) - ? order by sequence limit ${sliceSize})`,
      kept,
    ) +
    db.run(
      `delete from events where sequence in (select eventSequence from deliveries
         where sequence <= (select max(sequence) from deliveries) - ? order by sequence limit ${sliceSize})`,
      kept,
    );
  return forgotten > 0;
}
