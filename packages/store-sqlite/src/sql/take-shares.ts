import type { TakenEvent } from "@esim-webhooks/core";
import type { Transaction } from "../database/transaction.ts";
import {
  type Due,
  isNextInLane,
  longestDue,
  parametersOf,
  type TakeInput,
  type Taking,
  wanted,
} from "./due.ts";
import { pausedForTake } from "./pause.ts";
import { lease, reap } from "./take.ts";

export interface ShareInput extends TakeInput {
  /** The source at which the last take ended. */
  readonly after: string;
}

export interface Shares {
  readonly taken: readonly TakenEvent[];
  /** The source at which this take has ended. */
  readonly upto: string;
}

/** The index of inboxes with `fairBy`. No migration has it, since each event would be written into it. */
export function indexSources(tx: Transaction): void {
  tx.exec(
    "create index if not exists esim_webhooks_event_by_source on esim_webhooks_event (source, ends_at) where state = 'ready'",
  );
}

/**
 * Ready and due → leased, with places shared among sources: what one source has due does not keep the others waiting. Places
 * that are left, since sources have fewer events or their lanes are blocked, go to the longest due events.
 */
export function takeShares(tx: Transaction, input: ShareInput): Shares {
  reap(tx);
  const { isAll, types: paused } = pausedForTake(tx);
  if (isAll) return { taken: [], upto: input.after };
  const taking = { ...input, paused };
  const { sources, upto } = dueSources(tx, taking, input.after);
  const share = Math.floor(input.limit / sources.length);
  const shared = sources.length < 2 ? [] : sources.flatMap((source) => dueOf(tx, taking, source, share));
  const taken = lease(tx, shared, input.leaseMs);
  const left = input.limit - taken.length;
  if (left === 0) return { taken, upto };
  return { taken: [...taken, ...lease(tx, longestDue(tx, { ...taking, limit: left }), input.leaseMs)], upto };
}

const isDue = `state = 'ready' and source = $source and ends_at <= $now and suspect = 0 and ${wanted}`;

/** The next sources with due events, at most `limit`, in a circle. It visits a bounded number of sources. */
function dueSources(
  tx: Transaction,
  taking: Taking,
  after: string,
): { readonly sources: string[]; readonly upto: string } {
  const { limit: _, ...parameters } = parametersOf(tx, taking);
  const sources: string[] = [];
  let upto = after;
  let isSecondRound = false;
  for (let visits = 100 + 4 * taking.limit; visits > 0 && sources.length < taking.limit; visits -= 1) {
    const next = tx.get<{ readonly source: string }>(
      `select source from esim_webhooks_event indexed by esim_webhooks_event_by_source
      where state = 'ready' and source > $upto order by source limit 1`,
      { upto },
    );
    if (next === undefined) {
      if (isSecondRound) break;
      isSecondRound = true;
      upto = "";
      continue;
    }
    if (isSecondRound && next.source > after) break;
    upto = next.source;
    const due = tx.get(
      `select 1 from esim_webhooks_event indexed by esim_webhooks_event_by_source where ${isDue} limit 1`,
      { ...parameters, source: upto },
    );
    if (due !== undefined) sources.push(upto);
  }
  return { sources, upto };
}

/** The longest due events of a source that are next in their lanes, if they are in some, among the first hundred or more. */
function dueOf(tx: Transaction, taking: Taking, source: string, share: number): Due[] {
  return tx.all<Due>(
    `select rowid, ends_at as endsAt from (
      select rowid, ends_at, lane, occurred_at, source, id
      from esim_webhooks_event indexed by esim_webhooks_event_by_source
      where ${isDue}
      order by ends_at limit $reach
    ) as near
    where lane is null or ${isNextInLane("near", taking.laneHeldByDead)}
    limit $limit`, // not ordered again: so it reads no further than it must
    { ...parametersOf(tx, taking), source, limit: share, reach: 100 + 4 * share },
  );
}
