import type { Claim, EventKey } from "@esim-webhooks/core";
import { discarded, FaultError } from "../database/faults.ts";
import type { Transaction } from "../database/transaction.ts";
import { hasEnded, hasExpired, newFence } from "./lease.ts";
import { countConflict } from "./put.ts";

export interface ClaimInput {
  readonly key: EventKey;
  readonly leaseMs: number;
  readonly fingerprint: number | undefined;
}

interface Present {
  readonly state: "ready" | "leased" | "done" | "unhandled" | "dead";
  /** The inbox has its body: a worker works it, or an operator redrives it. */
  readonly queued: 0 | 1;
  readonly ended: 0 | 1;
  readonly leftMs: number;
  readonly fingerprint: number | null;
}

const retryQueuedMs = 1000;

/**
 * Absent → leased; otherwise answers what holds the id. A lease that has ended, or a retention that has expired, is as good as absent.
 * An unhandled event is claimed with its own body only: another body is a conflict, and the event stays as it is.
 */
export function claim(tx: Transaction, input: ClaimInput): Claim {
  const present = look(tx, input.key);
  if (present === undefined) return insert(tx, input);
  const conflict = isConflict(present, input) && ({ conflict: true } as const);
  if (present.queued) {
    const inInbox = present.state === "dead" ? "dead" : "waiting";
    return { status: "busy", retryAfterMs: Math.max(present.leftMs, retryQueuedMs), ...conflict, inInbox };
  }
  if (present.state === "unhandled" && !conflict) return takeOver(tx, input, keepingBody);
  if (present.ended) return takeOver(tx, input, withoutBody);
  if (present.state === "leased") return { status: "busy", retryAfterMs: present.leftMs, ...conflict };
  if (conflict) countConflict(tx, input.key);
  return { status: "done", ...conflict };
}

function look(tx: Transaction, { id, source }: EventKey): Present | undefined {
  return tx.get<Present>(
    `select state, state not in ('done', 'unhandled') and body is not null as queued,
      case state when 'leased' then ${hasEnded} else ${hasExpired} end as ended,
      iif(parked_due is null, coalesce(ends_at - $now, 0), 0) as leftMs,
      iif(coalesce(replay ->> 'rebuilt', 0), null, fingerprint) as fingerprint
    from esim_webhooks_event where id = $id and source = $source`,
    { now: tx.nowMs, id, source },
  );
}

/** Only where both know the bytes that were signed. */
function isConflict(present: Present, { fingerprint }: ClaimInput): boolean {
  return fingerprint !== undefined && present.fingerprint !== null && present.fingerprint !== fingerprint;
}

function insert(tx: Transaction, input: ClaimInput): Claim {
  const row = tx.get<{ token: string }>(
    `insert into esim_webhooks_event (source, id, state, fence, ends_at, term_ms, fingerprint)
    values ($source, $id, 'leased', ${newFence}, $now + $leaseMs, $leaseMs, $fingerprint) returning fence as token`,
    claimParameters(tx, input),
  );
  return claimed(row);
}

/** What an inbox has left of the event, and what operators see of it, goes with its lease or retention. */
const withoutBody = `fingerprint = $fingerprint, body = null, replay = null, runs = null, subject = null, key = null, trace = null,
  attempts = 0, tries = 0, taken_at = null, history = null, error = null, erased_at = null`;

/** The body stays until the event is completed here: if that does not end well, workers have it again. */
const keepingBody = "fingerprint = coalesce(fingerprint, $fingerprint)";

/** In no lane, since the lane has moved on. */
function takeOver(tx: Transaction, input: ClaimInput, changes: string): Claim {
  const row = tx.get<{ token: string }>(
    `update esim_webhooks_event
    set state = 'leased', fence = ${newFence}, ends_at = $now + $leaseMs, term_ms = $leaseMs, lane = null,
      settled_at = null, ${changes}
    where id = $id and source = $source returning fence as token`,
    claimParameters(tx, input),
  );
  return claimed(row);
}

function claimed(row: { readonly token: string } | undefined): Claim {
  if (row === undefined) throw new FaultError(discarded);
  return { status: "claimed", token: row.token };
}

function claimParameters({ nowMs: now }: Transaction, { key, leaseMs, fingerprint }: ClaimInput) {
  return { now, id: key.id, source: key.source, leaseMs, fingerprint: fingerprint ?? null };
}

/** A claim of an id, by its token. */
export interface ClaimedInput {
  readonly key: EventKey;
  readonly token: string;
}

/** Whether a row is this token's: SQL. */
const isMarked = "id = $id and source = $source and fence = $token";

/** Whether its lease is live, too: SQL. */
const isOwned = `${isMarked} and state = 'leased' and not ${hasEnded}`;

function claimedParameters({ nowMs: now }: Transaction, { key: { id, source }, token }: ClaimedInput) {
  return { now, id, source, token };
}

/** Leased → leased for longer. False: the token no longer has the lease. */
export function extend(tx: Transaction, input: ClaimedInput & { readonly leaseMs: number }): boolean {
  const changed = tx.run(
    `update esim_webhooks_event set ends_at = $now + $leaseMs, term_ms = $leaseMs where ${isOwned}`,
    { ...claimedParameters(tx, input), leaseMs: input.leaseMs },
  );
  return changed > 0;
}

export interface CompleteInput extends ClaimedInput {
  readonly retentionMs: number;
}

/** Leased → done. True for the token that did it before as well. */
export function complete(tx: Transaction, input: CompleteInput): boolean {
  return markDone(tx, input, isOwned) || isDone(tx, input);
}

/**
 * Leased → done together with what the handler wrote, by the fence alone: a lease that has ended, and that no other process has
 * taken, is still this one.
 */
export function completeByFence(tx: Transaction, input: CompleteInput): boolean {
  return markDone(tx, input, `${isMarked} and state = 'leased'`);
}

function markDone(tx: Transaction, input: CompleteInput, condition: string): boolean {
  const changed = tx.run(
    `update esim_webhooks_event set state = 'done', body = null, ends_at = $now + $retentionMs, settled_at = $now where ${condition}`,
    { ...claimedParameters(tx, input), retentionMs: input.retentionMs },
  );
  return changed > 0;
}

function isDone(tx: Transaction, input: ClaimedInput): boolean {
  const { now: _, ...parameters } = claimedParameters(tx, input);
  const row = tx.get(`select 1 from esim_webhooks_event where ${isMarked} and state = 'done'`, parameters);
  return row !== undefined;
}

/** Leased → absent, or ready where an inbox has left its body. False: as for `extend`. */
export function release(tx: Transaction, input: ClaimedInput): boolean {
  const parameters = claimedParameters(tx, input);
  const giveBack = `update esim_webhooks_event set state = 'ready', ends_at = $now, term_ms = 0 where ${isOwned}`;
  return (
    tx.run(`delete from esim_webhooks_event where ${isOwned} and body is null`, parameters) > 0 ||
    tx.run(giveBack, parameters) > 0
  );
}
