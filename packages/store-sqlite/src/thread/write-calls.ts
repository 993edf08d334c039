import { busyMsOf } from "../database/busy.ts";
import { changeSomething } from "../database/change-something.ts";
import type { Connection } from "../database/connection.ts";
import { faultOf, isOfTheFile } from "../database/faults.ts";
import type { HeldFiles } from "../database/held-files.ts";
import { type Journal, refuseWal } from "../database/journal.ts";
import { inTransaction, type Transaction, TransactionEnded } from "../database/transaction.ts";
import { refused } from "../sql/apply.ts";
import { shortenWaits } from "../sql/shorten-waits.ts";
import * as writes from "../sql/writes.ts";
import type { Clock } from "./clock.ts";
import { type Answer, type Call, notAsked } from "./protocol.ts";
import { uptimeMs } from "./uptime.ts";

export interface Writer {
  readonly path: string;
  readonly connection: Connection;
  readonly journal: Journal;
  readonly files: HeldFiles;
  readonly clock: Clock;
}

/** Those who answer for what others have written, and so for its being on the disk. */
const answering: readonly string[] = ["put", "claim"];

/**
 * Writes, in one transaction. Where one of them cannot be done, each goes by itself, so that the others are. None is begun whose
 * caller has given up while the file was locked: what it took would be leased to nobody.
 */
export function writeCalls(writer: Writer, calls: readonly Call[]): Answer[] {
  const leftMs = ({ untilMs }: Call) => untilMs - uptimeMs();

  function together(asked: readonly Call[]): Answer[] {
    const { path, connection, journal, files, clock } = writer;
    const longestMs = Math.max(...asked.map(leftMs));
    if (longestMs <= 0) return asked.map(() => notAsked);
    connection.exec(`pragma busy_timeout = ${busyMsOf(longestMs)}`);
    try {
      files.check();
      const { nowMs, answers } = inTransaction(connection, (tx) => {
        if (journal.hasWalResetBug) refuseWal(tx, path, journal);
        if (clock.mayBeSetBack(tx.nowMs)) shortenWaits(tx);
        if (journal.mode === "delete" && asked.some(({ name }) => answering.includes(name)))
          changeSomething(tx);
        return {
          nowMs: tx.nowMs,
          answers: asked.map((call) => (leftMs(call) <= 0 ? notAsked : { output: done(tx, call) })),
        };
      });
      files.check();
      clock.saw(nowMs);
      return answers;
    } catch (thrown) {
      const error = thrown instanceof TransactionEnded ? thrown.cause : thrown;
      if (isOfTheFile(error)) return asked.map(() => ({ fault: faultOf(error, path) }));
      if (asked.length > 1) return asked.flatMap((call) => together([call]));
      return [asked[0]?.name === "apply" ? { output: refused(error) } : { fault: faultOf(error, path) }];
    }
  }

  return together(calls);
}

type Operation = (tx: Transaction, input: unknown) => unknown;

function done(tx: Transaction, { name, input }: Call): unknown {
  return (writes as unknown as Record<string, Operation>)[name]?.(tx, input);
}
