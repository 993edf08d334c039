import type { InboxLease, StoredEnding } from "@esim-webhooks/core";
import type { RowChange } from "@esim-webhooks/core/engine";
import type { Transaction } from "../database/transaction.ts";
import { freeLanes } from "./lane.ts";
import { withAttempt } from "./lease.ts";
import { isPausedType } from "./pause.ts";

export interface SettleRules {
  readonly retentionMs: number;
  readonly keepBodies: boolean;
}

const longestError = 4000;

/** The end of a lease, and what it changes in the row. */
export interface Settling extends InboxLease {
  readonly state: StoredEnding["state"];
  /** Whether its handler was started, if it is given back. */
  readonly started?: boolean;
  readonly change: RowChange;
}

/** Leased → the state that each settlement names, if its fence is still that of the row. Returns for each whether the fence matched. */
export function settle(
  tx: Transaction,
  { settlements, rules }: { readonly settlements: readonly Settling[]; readonly rules: SettleRules },
): boolean[] {
  const { nowMs } = tx;
  const freed: string[] = [];
  const were = settlements.map(({ source, id, token, change }) => {
    const { state, attempts, tries, staysSuspect, waiting, error, attempt } = change;
    const termMs = Math.ceil(change.afterMs);
    const isReady = state === "ready";
    const isKept = state === "done" || state === "unhandled";
    const settled = tx.get<{ lane: string | null }>(
      `update esim_webhooks_event
      set state = ?, due_at = ?, leased_until = null, kept_until = ?, term_ms = ?, error = ?, attempts = attempts + ?, tries = tries + ?, suspect = suspect and ?,
        waiting_since = iif(?, coalesce(waiting_since, ?), null), body = iif(?, body, null),
        settled_at = ?${attempt === null ? "" : `, history = ${withAttempt("?", "?")}`}${
          isReady ? `, held = ${isPausedType("esim_webhooks_event.type", "?")}` : ""
        }
      where id = ? and source = ? and fence = ? and state = 'leased' returning lane`,
      ...[
        state,
        isReady ? nowMs + termMs : null,
        isKept ? nowMs + rules.retentionMs : null,
        termMs,
        error === null ? null : error.slice(0, longestError),
        attempts,
        tries,
        staysSuspect ? 1 : 0,
        waiting === "ends" ? 0 : 1,
        waiting === "begins" ? nowMs : null,
        state !== "done" || rules.keepBodies ? 1 : 0,
        isReady ? null : nowMs,
        ...(attempt === null ? [] : [attempt, nowMs]),
        ...(isReady ? [nowMs] : []),
        id,
        source,
        token,
      ],
    );
    if (!isReady && settled !== undefined && settled.lane !== null) freed.push(settled.lane);
    return settled !== undefined;
  });
  freeLanes(tx, freed);
  return were;
}

/** Leased → leased for longer. Returns for each lease whether its worker still had it. */
export function renew(
  tx: Transaction,
  { leases, leaseMs }: { readonly leases: readonly InboxLease[]; readonly leaseMs: number },
): boolean[] {
  return leases.map(({ source, id, token }) => {
    const changed = tx.run(
      `update esim_webhooks_event set leased_until = $now + $leaseMs, term_ms = $leaseMs
      where id = $id and source = $source and fence = $token and state = 'leased'`,
      { now: tx.nowMs, leaseMs, id, source, token },
    );
    return changed > 0;
  });
}
