import type { Service } from "../base/service.ts";
import type { Answer } from "./answer.ts";
import type { Attempt } from "./attempt.ts";
import { settlementOf } from "./retry-schedule.ts";

/** An active endpoint to which something is due. */
export interface DueEndpoint {
  readonly sequence: number;
  readonly url: string;
  readonly signingSecret: string;
  readonly previousSecret: string | null;
}

export function dueEndpoints({ db, clock }: Service): DueEndpoint[] {
  return db.all<DueEndpoint>(
    `select sequence, url, signingSecret, previousSecret from endpoints where active = 1 and exists
       (select 1 from deliveries where endpointSequence = endpoints.sequence and dueAt <= ?)`,
    clock.now(),
  );
}

/** The attempts that are due to an endpoint, the longest due first. */
export function dueAttempts({ db, clock }: Service, endpoint: DueEndpoint, limit: number): Attempt[] {
  const { sequence, ...secretsAndUrl } = endpoint;
  return db
    .all<Omit<Attempt, keyof typeof secretsAndUrl>>(
      `select deliveries.sequence, endpointSequence, attemptNumber + 1 as number, deliveries.eventId, eventType,
         coalesce(faultedBody, body) as body, deliveries.createdAt
       from deliveries join events on events.sequence = eventSequence
       where endpointSequence = ? and dueAt <= ? order by dueAt, deliveries.sequence limit ?`,
      sequence,
      clock.now(),
      limit,
    )
    .map((row) => ({ ...row, ...secretsAndUrl }));
}

/** When the next attempt to an active endpoint is due. */
export function nextDueAt({ db }: Service): number | undefined {
  const row = db.get<{ dueAt: number | null }>(
    `select min((select min(dueAt) from deliveries where endpointSequence = endpoints.sequence and dueAt is not null))
       as dueAt from endpoints where active = 1`,
  );
  return row?.dueAt ?? undefined;
}

/** The attempt begins: it counts from now on. */
export function markSending({ db, clock }: Service, { sequence, number }: Attempt): void {
  db.run(
    "update deliveries set status = 'sending', attemptNumber = ?, sentAt = ?, dueAt = null where sequence = ?",
    number,
    clock.now(),
    sequence,
  );
}

/** What an attempt's answer makes of its delivery. Changes nothing if that, or its endpoint, has been deleted meanwhile. */
export function settleAttempt(
  { db, clock, switches }: Service,
  { sequence, number }: Attempt,
  answer: Answer,
): void {
  const now = clock.now();
  const settlement = settlementOf(answer, number, switches);
  const retryAfterMs = settlement.status === "failed" ? settlement.retryAfterMs : null;
  db.run(
    "update deliveries set status = ?, dueAt = ?, deliveredAt = ?, httpStatus = ?, responseBody = ? where sequence = ?",
    settlement.status,
    retryAfterMs === null ? null : now + retryAfterMs,
    settlement.status === "delivered" ? now : null,
    answer === "no_answer" ? null : answer.httpStatus,
    answer === "no_answer" ? null : answer.responseBody,
    sequence,
  );
}

/** Another due time, without an attempt. */
export function postpone({ db }: Service, sequence: number, dueAt: number): void {
  db.run("update deliveries set dueAt = ? where sequence = ?", dueAt, sequence);
}

/** From now on, all attempts of the delivery have this body. */
export function changeBody({ db }: Service, sequence: number, body: string): void {
  db.run("update deliveries set faultedBody = ? where sequence = ?", body, sequence);
}

/** Attempts that an earlier process has not finished are made again, under their number. */
export function recover({ db, clock }: Service): void {
  db.run(
    `update deliveries set status = case attemptNumber when 1 then 'pending' else 'failed' end,
       attemptNumber = attemptNumber - 1, dueAt = ? where status = 'sending'`,
    clock.now(),
  );
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
