import { randomUUID } from "node:crypto";
import type { EsimEvents } from "@esim-webhooks/core";
import { parseOptions, safeLogger } from "@esim-webhooks/core/kit";
import * as z from "zod/mini";
import type { RawRecord } from "../dump/record.ts";
import { createQuestions } from "./classify.ts";
import type { ReplayJournal } from "./journal.ts";
import { openLedger, type Tally } from "./ledger.ts";
import { replay } from "./replay.ts";
import { type ReplayOptions, replayShape } from "./replay-options.ts";
import { openSinkOf, type ReplayTarget } from "./target.ts";

/** What became of the records. Plain JSON. */
export interface ReplayReport extends Tally {
  /** The name of this run: the same one when it was interrupted and went on. */
  readonly run: string;
  /** Nothing was touched: `stored` is what would be handed over, duplicates are not known. */
  readonly dryRun: boolean;
  /** The signal ended it: run it again to go on. What is counted is settled. */
  readonly interrupted: boolean;
}

export interface ReplayRecordsOptions<Data = EsimEvents, Tx = unknown> extends ReplayOptions<Data, Tx> {
  /** Where to write down how far it is. Default: nowhere. */
  readonly journal?: ReplayJournal | undefined;
}

const shape = {
  ...replayShape,
  journal: z.optional(
    z.custom<ReplayJournal>(
      (given) => typeof (given as Partial<ReplayJournal> | null)?.run === "string",
      "expected an object with the name of the run as run",
    ),
  ),
};

/**
 * Replays records that come from anywhere, such as the pages of the deliveries listing: what `importDeliveries` does with
 * those of a dump. Each is classified (recognised, filtered, verified), handed over in its turn, and counted in a ledger
 * that balances. Ids that are done, or stored, are duplicates and do not run; a bad record never stops it.
 *
 * Resolves to a report, also when the signal interrupted it. Rejects as `importDeliveries` does, and with what `records`
 * rejects with, once nothing is under way any more.
 * @param records batches of records, in the order in which they are to be handed over; `value` is a delivery record
 * (spec 2.5) or a captured request
 * @param target an inbox, handlers (with `store`) or a processor
 */
export async function replayRecords<Data = EsimEvents, Tx = unknown>(
  records: AsyncIterable<readonly RawRecord[]>,
  target: ReplayTarget<Data, Tx>,
  options: ReplayRecordsOptions<Data, Tx> = {},
): Promise<ReplayReport> {
  const { journal = { run: randomUUID() }, ...given } = parseOptions("replayRecords", shape, options);
  const settings = { ...given, logger: safeLogger(given.logger) };
  const { dryRun, signal } = settings;
  const questions = createQuestions(settings);
  const openSink = openSinkOf(target as ReplayTarget<unknown, never>, settings);
  const ledger = openLedger(journal.tally);
  let interrupted = false;
  try {
    await replay(records, { questions, openSink, journal, ledger, signal });
  } catch (error) {
    interrupted = isReason(error, signal);
    if (!interrupted) throw error;
  }
  return { run: journal.run, dryRun, interrupted, ...ledger.tally() };
}

/** Whether the error is that the signal has aborted. */
export function isReason(error: unknown, signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true && error === signal.reason;
}
