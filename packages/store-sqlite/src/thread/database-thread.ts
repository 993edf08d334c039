// What a thread does: opens a connection to the file, answers calls, and ends when it is told to.
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { type Connection, pragma } from "../database/connection.ts";
import { faultOf, isOfTheFile } from "../database/faults.ts";
import { type Journal, refuseWal } from "../database/journal.ts";
import { openReader, openSource, openWriter } from "../database/open.ts";
import { inTransaction, TransactionEnded } from "../database/transaction.ts";
import { refused } from "../sql/apply.ts";
import * as reads from "../sql/reads.ts";
import * as writes from "../sql/writes.ts";
import type { Answer, Call, Reply, Request, ThreadData } from "./protocol.ts";

type Operation<On> = (on: On, input: unknown) => unknown;

const port = parentPort as MessagePort;
const { role, ...options } = workerData as ThreadData;
const { path } = options;
const watchEveryMs = 50;

function reply(message: Reply): void {
  port.postMessage(message);
}

/** Questions, each by itself. */
function ask(connection: Connection, calls: readonly Call[]): Answer[] {
  return calls.map(({ name, input }) => {
    try {
      return {
        output: (reads as unknown as Record<string, Operation<Connection>>)[name]?.(connection, input),
      };
    } catch (error) {
      return { fault: faultOf(error, path) };
    }
  });
}

/** Writes, in one transaction. Where one of them cannot be done, each goes by itself, so that the others are. */
function write(connection: Connection, journal: Journal, calls: readonly Call[]): Answer[] {
  try {
    return inTransaction(connection, (tx) => {
      if (journal.hasWalResetBug) refuseWal(tx, path, journal);
      return calls.map(({ name, input }) => ({
        output: (writes as unknown as Record<string, Operation<typeof tx>>)[name]?.(tx, input),
      }));
    });
  } catch (thrown) {
    const error = thrown instanceof TransactionEnded ? thrown.cause : thrown;
    if (isOfTheFile(error)) return calls.map(() => ({ fault: faultOf(error, path) }));
    if (calls.length > 1) return calls.flatMap((call) => write(connection, journal, [call]));
    return [calls[0]?.name === "apply" ? { output: refused(error) } : { fault: faultOf(error, path) }];
  }
}

/** Tells when another connection has committed: the number changes for no commit of this one. */
function watch(connection: Connection): NodeJS.Timeout {
  let version: unknown;
  return setInterval(() => {
    try {
      const current = pragma(connection, "data_version");
      if (current !== version) reply({ kind: "changed" });
      version = current;
    } catch {
      // a hint may be missed, and whoever writes or asks is told what is wrong
    }
  }, watchEveryMs);
}

function serve(connection: Connection, answer: (calls: readonly Call[]) => Answer[]): void {
  let watching: NodeJS.Timeout | undefined;
  port.on("message", (request: Request) => {
    switch (request.kind) {
      case "calls":
        return reply({ kind: "answers", id: request.id, answers: answer(request.calls) });
      case "watch":
        clearInterval(watching);
        watching = request.isOn ? watch(connection) : undefined;
        return;
      case "close":
        clearInterval(watching);
        connection.close();
        process.exit(); // of this thread alone
    }
  });
}

try {
  if (role === "writer") {
    const { journal, ...connection } = openWriter(options);
    serve(connection, (calls) => write(connection, journal, calls));
    reply({ kind: "opened", journal });
  } else {
    const connection = role === "reader" ? openReader(options) : openSource(options);
    serve(connection, (calls) => ask(connection, calls));
    reply({ kind: "opened", journal: undefined });
  }
} catch (error) {
  reply({ kind: "fault", fault: faultOf(error, path) }); // and the thread ends, since it listens to nothing
}
