import type { Claim, EventKey } from "@esim-webhooks/core";
import type { Transaction } from "../database/transaction.ts";
import { countConflict } from "./count-conflict.ts";
import { hasEnded, isOver, newFence } from "./lease.ts";

export interface ClaimInput {
  readonly key: EventKey;
  readonly leaseMs: number;
  readonly fingerprint: number | undefined;
}

interface Held {
  readonly state: "ready" | "leased" | "done" | "unhandled" | "dead";
  /** The inbox has its body: a worker works it, or an operator redrives it. */
  readonly queued: 0 | 1;
  readonly ended: 0 | 1;
  readonly leftMs: number;
  readonly fingerprint: number | null;
}

const retryQueuedMs = 1000;

/**
 * Absent → leased; otherwise answers what holds the id. A lease or a retention that is over is as good as absent. An unhandled
 * event is claimed with its own body only: another body is a conflict, and the event stays as it is.
 */
export function claim(tx: Transaction, input: ClaimInput): Claim {
  const held = look(tx, input.key);
  if (held === undefined) return insert(tx, input);
  const conflict = isConflict(held, input) && ({ conflict: true } as const);
  if (held.queued) {
    const inInbox = held.state === "dead" ? "dead" : "waiting";
    return { status: "busy", retryAfterMs: Math.max(held.leftMs, retryQueuedMs), ...conflict, inInbox };
  }
  if (held.state === "unhandled" && !conflict) return takeOver(tx, input, keepingBody);
  if (held.ended) return takeOver(tx, input, withoutBody);
  if (held.state === "leased") return { status: "busy", retryAfterMs: held.leftMs, ...conflict };
  if (conflict) countConflict(tx, input.key);
  return { status: "done", ...conflict };
}

function look(tx: Transaction, { id, source }: EventKey): Held | undefined {
  return tx.get<Held>(
    `select state, state not in ('done', 'unhandled') and body is not null as queued,
      case state when 'leased' then ${hasEnded} else ${isOver} end as ended,
      coalesce(ends_at - $now, 0) as leftMs,
      iif(coalesce(replay ->> 'rebuilt', 0), null, fingerprint) as fingerprint
    from esim_webhooks_event where id = $id and source = $source`,
    { now: tx.nowMs, id, source },
  );
}

/** Only where both know the bytes that were signed. */
function isConflict(held: Held, { fingerprint }: ClaimInput): boolean {
  return fingerprint !== undefined && held.fingerprint !== null && held.fingerprint !== fingerprint;
}

function insert(tx: Transaction, input: ClaimInput): Claim {
  const row = tx.get<{ token: string }>(
    `insert into esim_webhooks_event (source, id, state, fence, ends_at, term_ms, fingerprint)
    values ($source, $id, 'leased', ${newFence}, $now + $leaseMs, $leaseMs, $fingerprint) returning fence as token`,
    parametersOf(tx, input),
  );
  return { status: "claimed", token: row?.token ?? "" };
}

/** What an inbox has left of the event goes with the lease or the retention that is over. */
const withoutBody = "fingerprint = $fingerprint, body = null, replay = null, runs = null";

/** The body stays until the event is completed here: if that does not end well, workers have it again. */
const keepingBody = "fingerprint = coalesce(fingerprint, $fingerprint)";

/** In no lane, since its turn there is over. */
function takeOver(tx: Transaction, input: ClaimInput, changes: string): Claim {
  const row = tx.get<{ token: string }>(
    `update esim_webhooks_event
    set state = 'leased', fence = ${newFence}, ends_at = $now + $leaseMs, term_ms = $leaseMs, lane = null, ${changes}
    where id = $id and source = $source returning fence as token`,
    parametersOf(tx, input),
  );
  return { status: "claimed", token: row?.token ?? "" };
}

function parametersOf({ nowMs: now }: Transaction, { key, leaseMs, fingerprint }: ClaimInput) {
  return { now, id: key.id, source: key.source, leaseMs, fingerprint: fingerprint ?? null };
}
