import type { Connection } from "../database/connection.ts";
import { faultOf, isOfTheFile } from "../database/faults.ts";
import type { HeldFiles } from "../database/held-files.ts";
import { type Journal, refuseWal } from "../database/journal.ts";
import { forceSync } from "../database/sync.ts";
import { inTransaction, TransactionEnded } from "../database/transaction.ts";
import { refused } from "../sql/handler-statements.ts";
import { driftMs, shortenWaits } from "../sql/lease.ts";
import * as reads from "../sql/reads.ts";
import * as writes from "../sql/writes.ts";
import { type Answer, busyMsOf, type Call, notAsked, uptimeMs } from "./messages.ts";

/** The connection that writes, as `openWriter` has opened it. */
export interface Writer {
  readonly path: string;
  readonly connection: Connection;
  readonly journal: Journal;
  readonly files: HeldFiles;
}

/** The operations whose answers report the writes of other processes, which must be on the disk by then. */
const confirming: readonly string[] = ["put", "claim"];

/**
 * Returns a function that runs the calls of one message in one transaction. If one of them fails, but not the file, each runs in a
 * transaction of its own, so that the others succeed. A call whose caller has given up while the file was locked is not started: if it leased events, no process
 * would settle them.
 */
export function createWriteRunner(writer: Writer): (calls: readonly Call[]) => Answer[] {
  const { path, connection, journal, files } = writer;
  const clock = createClock();
  const leftMs = ({ untilMs }: Call) => untilMs - uptimeMs();

  function checkFiles(): void {
    try {
      files.check();
    } catch (error) {
      // saves the acknowledged events that only the removed log has: a kill of this process would lose them
      if (files.isLogGone()) connection.exec("pragma wal_checkpoint(passive)");
      throw error;
    }
  }

  return function runTogether(asked: readonly Call[]): Answer[] {
    const longestMs = Math.max(...asked.map(leftMs));
    if (longestMs <= 0) return asked.map(() => notAsked);
    connection.exec(`pragma busy_timeout = ${busyMsOf(longestMs)}`);
    try {
      checkFiles();
      const { nowMs, answers } = inTransaction(connection, (tx) => {
        if (journal.hasWalResetBug) refuseWal(tx, path, journal);
        if (clock.mayBeSetBack(tx.nowMs)) shortenWaits(tx);
        if (journal.mode === "delete" && asked.some(({ name }) => confirming.includes(name))) forceSync(tx);
        return {
          nowMs: tx.nowMs,
          answers: asked.map((call) =>
            leftMs(call) <= 0 ? notAsked : { output: outputIn(writes, tx, call) },
          ),
        };
      });
      checkFiles();
      clock.saw(nowMs);
      return answers;
    } catch (thrown) {
      const error = thrown instanceof TransactionEnded ? thrown.cause : thrown;
      if (isOfTheFile(error)) return asked.map(() => ({ fault: faultOf(error, path) }));
      if (asked.length > 1) return asked.flatMap((call) => runTogether([call]));
      return [asked[0]?.name === "apply" ? { output: refused(error) } : { fault: faultOf(error, path) }];
    }
  };
}

/** Returns a function that runs the calls of one message, each by itself. */
export function createReadRunner(connection: Connection, path: string): (calls: readonly Call[]) => Answer[] {
  return (calls) =>
    calls.map((call) => {
      try {
        return { output: outputIn(reads, connection, call) };
      } catch (error) {
        return { fault: faultOf(error, path) };
      }
    });
}

type Operation = (connection: Connection, input: unknown) => unknown;

function outputIn(operations: object, connection: Connection, { name, input }: Call): unknown {
  return (operations as Readonly<Record<string, Operation>>)[name]?.(connection, input);
}

/** The machine's clock, as a connection knows it. */
interface Clock {
  /** Whether the clock may have been set back before a transaction at `nowMs`. True before the first one. */
  mayBeSetBack(nowMs: number): boolean;
  /** Notes that a transaction at `nowMs` was committed. */
  saw(nowMs: number): void;
}

export function createClock(): Clock {
  let latestMs = Number.POSITIVE_INFINITY;
  return {
    mayBeSetBack: (nowMs) => nowMs < latestMs - driftMs,
    saw(nowMs) {
      latestMs = nowMs;
    },
  };
}
