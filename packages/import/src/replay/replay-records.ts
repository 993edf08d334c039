import { randomUUID } from "node:crypto";
import type { EsimEvents } from "@esim-webhooks/core";
import { durationMs, parseOptions } from "@esim-webhooks/core/engine";
import { idPattern } from "@esim-webhooks/core/internal";
import * as z from "zod/mini";
import type { RawRecord } from "../dump/record.ts";
import { isDeeper, isObject } from "../record/recorded-event.ts";
import { untilAborted } from "./batches.ts";
import type { ReplayJournal } from "./journal.ts";
import { deepest, type ReplayOptions, replayShape } from "./options.ts";
import { type ReplayReport, replay } from "./replay.ts";
import type { ReplayTarget } from "./target.ts";

export interface ReplayRecordsOptions<Data = EsimEvents, Tx = unknown> extends ReplayOptions<Data, Tx> {
  /** Records how far the replay has come. Default: no journal. */
  readonly journal?: ReplayJournal | undefined;
  /**
   * With handlers or a processor: how long a handler may take, in ms. Then its `context.signal` aborts, and its event counts as
   * `rejected` with the code `deadline_reached`. Default: as long as it needs.
   */
  readonly deadlineMs?: number | undefined;
}

const shape = {
  ...replayShape,
  journal: z.optional(
    z.custom<ReplayJournal>(
      (value) => typeof (value as Partial<ReplayJournal> | null)?.run === "string",
      "expected an object with run, the name of the run",
    ),
  ),
  deadlineMs: z.optional(durationMs(1)),
};

/**
 * Replays records from anywhere, such as the pages of the deliveries listing, as `importDeliveries` replays those of a dump.
 * Each record is recognised, filtered, verified, passed to the target in order, and counted in a ledger that balances. Ids that are
 * stored or done are duplicates and do not run; a bad record does not stop the replay.
 *
 * If the next records are not there within 20 ms, those before them do not wait for their batch to be full. Resolves to a report, also when
 * the signal interrupted it: it then does not wait for `records`. Rejects as `importDeliveries` does, and with the error of `records`, once
 * what was read before is settled and no handler runs any more, except one that ignores its deadline.
 * @param records batches of records, in the order in which the target gets them: each is an object as the deliveries listing has it,
 * or a captured request
 * @param target an inbox, handlers (with `store`) or a processor
 * @param options how the records are filtered and replayed
 */
export async function replayRecords<Data = EsimEvents, Tx = unknown>(
  records: AsyncIterable<readonly unknown[]>,
  target: ReplayTarget<Data, Tx>,
  options: ReplayRecordsOptions<Data, Tx> = {},
): Promise<ReplayReport> {
  const { journal = { run: randomUUID() }, ...settings } = parseOptions("replayRecords", shape, options);
  const unread = untilAborted(records, settings.signal);
  const numbered = numberedFrom(journal.tally?.ledger.read ?? 0, unread);
  return replay({ records: numbered, journal }, target as ReplayTarget<unknown, never>, settings);
}

/** The same batches, each record with its number, which begins after `first`. A record that is nested too deeply is a fault. */
async function* numberedFrom(
  first: number,
  batches: AsyncIterable<readonly unknown[]>,
): AsyncGenerator<readonly RawRecord[]> {
  let record = first;
  for await (const batch of batches) {
    yield batch.map((value) => {
      record += 1;
      return isDeeper(value, deepest) ? tooDeep(record, value) : { position: { record }, value };
    });
  }
}

/** The fault in place of a record. A dump has the same limit, or a lower one. */
function tooDeep(record: number, value: unknown): RawRecord {
  const id = isObject(value) ? value["eventId"] : undefined;
  const reason = `nested more than ${deepest} deep`;
  const isId = typeof id === "string" && idPattern.test(id);
  return { position: { record }, fault: "too_deep", reason, ...(isId && { id }) };
}
