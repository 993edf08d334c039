import type { InboxLease, Settlement } from "@esim-webhooks/core";
import type { Transaction } from "../database/transaction.ts";
import { withAttempt } from "./lease.ts";

export interface SettleRules {
  readonly retentionMs: number;
  readonly keepBodies: boolean;
}

const longestError = 4000;
const longestWaitMs = 100 * 365 * 24 * 3_600_000; // more may be past what a Date can hold

/** A settlement, with the attempt that its report describes as JSON. */
export type Settling = Settlement & { readonly attempt?: string };

/** Leased → what each settlement says, for leases whose fence still is the row's. One to one: whether it was. */
export function settle(
  tx: Transaction,
  { settlements, rules }: { readonly settlements: readonly Settling[]; readonly rules: SettleRules },
): boolean[] {
  return settlements.map((settlement) => {
    const {
      state,
      endsAt,
      termMs,
      error,
      refund,
      unstarted,
      staysSuspect,
      keepsWait,
      waitingSince,
      keepsBody,
    } = written(tx, settlement, rules);
    const { attempt = null } = settlement;
    const changed = tx.run(
      `update esim_webhooks_event
      set state = ?, ends_at = ?, term_ms = ?, error = ?, attempts = attempts - ?, tries = tries - ?, suspect = suspect and ?,
        waiting_since = iif(?, coalesce(waiting_since, ?), null), body = iif(?, body, null),
        settled_at = ?${attempt === null ? "" : `, history = ${withAttempt("?", "?")}`}
      where id = ? and source = ? and fence = ? and state = 'leased'`,
      ...[
        state,
        endsAt,
        termMs,
        error,
        unstarted,
        refund,
        staysSuspect,
        keepsWait,
        waitingSince,
        keepsBody ? 1 : 0,
        state === "ready" ? null : tx.nowMs,
        ...(attempt === null ? [] : [attempt, tx.nowMs]),
        settlement.id,
        settlement.source,
        settlement.token,
      ],
    );
    return changed > 0;
  });
}

interface Written {
  readonly state: string;
  readonly endsAt: number | null;
  /** How long it waits to be ready. */
  readonly termMs: number;
  readonly error: string | null;
  /** Whether the try does not count towards `maxAttempts`. */
  readonly refund: 0 | 1;
  /** Whether no handler was started, so the attempt does not count. */
  readonly unstarted: 0 | 1;
  readonly staysSuspect: 0 | 1;
  /** Whether the time since when the event has waited stays as it is. */
  readonly keepsWait: 0 | 1;
  /** That time, for an event that has not waited before. */
  readonly waitingSince: number | null;
  readonly keepsBody: boolean;
}

function written({ nowMs }: Transaction, settlement: Settlement, rules: SettleRules): Written {
  const plain = {
    termMs: 0,
    error: null,
    refund: 0,
    unstarted: 0,
    staysSuspect: 0,
    keepsWait: 0,
    waitingSince: null,
    keepsBody: true,
  } as const;
  switch (settlement.state) {
    case "done":
      return { ...plain, state: "done", endsAt: nowMs + rules.retentionMs, keepsBody: rules.keepBodies };
    case "unhandled":
      return { ...plain, state: "unhandled", endsAt: nowMs + rules.retentionMs, unstarted: 1 };
    case "ready":
      return { ...plain, ...putOff(nowMs, settlement), keepsWait: 1 };
    case "waiting":
      return {
        ...plain,
        ...putOff(nowMs, settlement),
        refund: 1,
        keepsWait: 1,
        ...(settlement.isPutOff ? { unstarted: 1, staysSuspect: 1 } : { waitingSince: nowMs }),
      };
    case "untouched":
      return {
        ...plain,
        state: "ready",
        endsAt: nowMs,
        refund: 1,
        unstarted: settlement.wasStarted ? 0 : 1,
        staysSuspect: 1,
        keepsWait: 1,
      };
    case "dead":
      return { ...plain, state: "dead", endsAt: null, error: storable(settlement.error) };
  }
}

/** Ready, due later. */
function putOff(nowMs: number, { afterMs, error }: { readonly afterMs: number; readonly error: string }) {
  const termMs = Math.ceil(Math.min(afterMs, longestWaitMs));
  return { state: "ready", endsAt: nowMs + termMs, termMs, error: storable(error) };
}

function storable(error: string): string {
  return error.slice(0, longestError);
}

/** Leased → leased for longer. One to one: whether the lease was still held. */
export function renew(
  tx: Transaction,
  { leases, leaseMs }: { readonly leases: readonly InboxLease[]; readonly leaseMs: number },
): boolean[] {
  return leases.map(({ source, id, token }) => {
    const changed = tx.run(
      `update esim_webhooks_event set ends_at = $now + $leaseMs, term_ms = $leaseMs
      where id = $id and source = $source and fence = $token and state = 'leased'`,
      { now: tx.nowMs, leaseMs, id, source, token },
    );
    return changed > 0;
  });
}
