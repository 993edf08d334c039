import type { Settlement } from "@esim-webhooks/core";
import type { Transaction } from "../database/transaction.ts";

export interface SettleRules {
  readonly retentionMs: number;
  readonly keepBodies: boolean;
}

const longestError = 4000;
const longestWaitMs = 100 * 365 * 24 * 3_600_000; // more may be past what a Date can tell

/** Leased → what each settlement says, for leases whose fence still is the row's. One to one: whether it was. */
export function settle(
  tx: Transaction,
  { settlements, rules }: { readonly settlements: readonly Settlement[]; readonly rules: SettleRules },
): boolean[] {
  return settlements.map((settlement) => {
    const { state, endsAt, termMs, error, refund, keepsBody } = written(tx, settlement, rules);
    const changed = tx.run(
      `update esim_webhooks_event
      set state = ?, ends_at = ?, term_ms = ?, error = ?, attempts = attempts - ?, suspect = suspect and ?, body = iif(?, body, null)
      where id = ? and source = ? and fence = ? and state = 'leased'`,
      ...[
        state,
        endsAt,
        termMs,
        error,
        refund,
        refund,
        keepsBody ? 1 : 0,
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
  readonly refund: 0 | 1;
  readonly keepsBody: boolean;
}

function written({ nowMs }: Transaction, settlement: Settlement, rules: SettleRules): Written {
  const plain = { termMs: 0, error: null, refund: 0, keepsBody: true } as const;
  switch (settlement.state) {
    case "done":
      return { ...plain, state: "done", endsAt: nowMs + rules.retentionMs, keepsBody: rules.keepBodies };
    case "unhandled":
      return { ...plain, state: "unhandled", endsAt: nowMs + rules.retentionMs };
    case "ready": {
      const termMs = Math.ceil(Math.min(settlement.afterMs, longestWaitMs));
      return { ...plain, state: "ready", endsAt: nowMs + termMs, termMs, error: storable(settlement.error) };
    }
    case "untouched":
      return { ...plain, state: "ready", endsAt: nowMs, refund: 1 };
    case "dead":
      return { ...plain, state: "dead", endsAt: null, error: storable(settlement.error) };
  }
}

function storable(error: string): string {
  return error.slice(0, longestError);
}
