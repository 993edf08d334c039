import type { Claim, EventKey } from "@esim-webhooks/core";
import { discarded, FaultError } from "../database/faults.ts";
import type { Transaction } from "../database/transaction.ts";
import { hasEnded, hasExpired, newFence } from "./lease.ts";
import { countConflict, remove } from "./put.ts";

export interface ClaimInput {
  readonly key: EventKey;
  readonly leaseMs: number;
  readonly fingerprint: number | undefined;
}

interface Present {
  readonly state: "ready" | "leased" | "done" | "unhandled" | "dead";
  /** Whether the inbox has it, and it is not done: a worker handles it, or an operator redrives it. */
  readonly queued: 0 | 1;
  /** Whether its lease or its retention has ended. */
  readonly ended: 0 | 1;
  readonly leftMs: number;
  readonly fingerprint: number | null;
}

const retryQueuedMs = 1000;

/**
 * Absent → leased; otherwise returns what holds the id. An inline claim whose lease has ended, or a row whose retention has expired, is
 * treated as absent.
 */
export function claim(tx: Transaction, input: ClaimInput): Claim {
  const present = look(tx, input.key);
  if (present === undefined) return insert(tx, input);
  const conflict = isConflict(present, input) && ({ conflict: true } as const);
  if (present.queued) {
    const { state, leftMs } = present;
    const inInbox = state === "dead" || state === "unhandled" ? state : "waiting";
    return { status: "busy", retryAfterMs: Math.max(leftMs, retryQueuedMs), ...conflict, inInbox };
  }
  if (present.ended) {
    remove(tx, input.key);
    return insert(tx, input);
  }
  if (present.state === "leased") return { status: "busy", retryAfterMs: present.leftMs, ...conflict };
  if (conflict) countConflict(tx, input.key);
  return { status: "done", ...conflict };
}

function look(tx: Transaction, { id, source }: EventKey): Present | undefined {
  return tx.get<Present>(
    `select state, case state
        when 'done' then false
        when 'unhandled' then not ${hasExpired}
        when 'leased' then body is not null
        else true
      end as queued,
      case state when 'leased' then ${hasEnded} else ${hasExpired} end as ended,
      coalesce(iif(state = 'leased', leased_until, due_at) - $now, 0) as leftMs,
      iif(coalesce(replay ->> 'rebuilt', 0), null, fingerprint) as fingerprint
    from esim_webhooks_event where id = $id and source = $source`,
    { now: tx.nowMs, id, source },
  );
}

/** Whether the row has another body. False if the signed bytes of the row or of the claim are unknown. */
function isConflict(present: Present, { fingerprint }: ClaimInput): boolean {
  return fingerprint !== undefined && present.fingerprint !== null && present.fingerprint !== fingerprint;
}

function insert(tx: Transaction, input: ClaimInput): Claim {
  const row = tx.get<{ token: string }>(
    `insert into esim_webhooks_event (source, id, state, fence, leased_until, term_ms, fingerprint)
    values ($source, $id, 'leased', ${newFence}, $now + $leaseMs, $leaseMs, $fingerprint) returning fence as token`,
    claimParameters(tx, input),
  );
  return claimOf(row);
}

function claimOf(row: { readonly token: string } | undefined): Claim {
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

/** Whether a row is an inline claim of this token: SQL. */
const isHeld = `${isMarked} and state = 'leased' and body is null`;

/** Whether a row is such a claim, with a live lease: SQL. */
const isOwned = `${isHeld} and not ${hasEnded}`;

function claimedParameters({ nowMs: now }: Transaction, { key: { id, source }, token }: ClaimedInput) {
  return { now, id, source, token };
}

/** Leased → leased for longer. False: the token no longer has the lease. */
export function extend(tx: Transaction, input: ClaimedInput & { readonly leaseMs: number }): boolean {
  const changed = tx.run(
    `update esim_webhooks_event set leased_until = $now + $leaseMs, term_ms = $leaseMs where ${isOwned}`,
    { ...claimedParameters(tx, input), leaseMs: input.leaseMs },
  );
  return changed > 0;
}

export interface CompleteInput extends ClaimedInput {
  readonly retentionMs: number;
}

/** Leased → done. Also true if this token has done it before. */
export function complete(tx: Transaction, input: CompleteInput): boolean {
  return markDone(tx, input, isOwned) || isDone(tx, input);
}

/**
 * Leased → done together with what the handler wrote. Compares only the fence: a lease that has ended is still valid if no other process
 * has taken the id.
 */
export function completeByFence(tx: Transaction, input: CompleteInput): boolean {
  return markDone(tx, input, isHeld);
}

function markDone(tx: Transaction, input: CompleteInput, condition: string): boolean {
  const changed = tx.run(
    `update esim_webhooks_event set state = 'done', leased_until = null, kept_until = $now + $retentionMs, settled_at = $now where ${condition}`,
    { ...claimedParameters(tx, input), retentionMs: input.retentionMs },
  );
  return changed > 0;
}

function isDone(tx: Transaction, input: ClaimedInput): boolean {
  const { now: _, ...parameters } = claimedParameters(tx, input);
  const row = tx.get(`select 1 from esim_webhooks_event where ${isMarked} and state = 'done'`, parameters);
  return row !== undefined;
}

/** Leased → absent. False: as for `extend`. */
export function release(tx: Transaction, input: ClaimedInput): boolean {
  return tx.run(`delete from esim_webhooks_event where ${isOwned}`, claimedParameters(tx, input)) > 0;
}
