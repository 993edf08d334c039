// The code of a thread: opens a connection to the file, answers calls, and ends on request.
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { type Connection, pragma } from "../database/connection.ts";
import { faultOf } from "../database/faults.ts";
import { openAsItIs, openReader, openSource, openWriter } from "../database/open.ts";
import * as reads from "../sql/reads.ts";
import { unpackCalls } from "./packed-rows.ts";
import type { Answer, Call, Reply, Request, ThreadData } from "./protocol.ts";
import { createWriteCalls } from "./write-calls.ts";

type Operation = (connection: Connection, input: unknown) => unknown;

const port = parentPort as MessagePort;
const { role, ...options } = workerData as ThreadData;
const { path } = options;
const watchEveryMs = 50;

function reply(message: Reply): void {
  port.postMessage(message);
}

/** Runs reads, each by itself. */
function readCalls(connection: Connection, calls: readonly Call[]): Answer[] {
  return calls.map(({ name, input }) => {
    try {
      return {
        output: (reads as unknown as Record<string, Operation>)[name]?.(connection, input),
      };
    } catch (error) {
      return { fault: faultOf(error, path) };
    }
  });
}

/** Reports when another connection has committed: the number changes for no commit of this one. */
function watch(connection: Connection): NodeJS.Timeout {
  let version: unknown;
  return setInterval(() => {
    try {
      const current = pragma(connection, "data_version");
      if (current !== version) reply({ kind: "changed" });
      version = current;
    } catch {
      // a hint may be missed; the next write or read reports what is wrong
    }
  }, watchEveryMs);
}

function serve(
  connection: Connection,
  answer: (calls: readonly Call[]) => Answer[],
  close: () => void = connection.close,
): void {
  let watching: NodeJS.Timeout | undefined;
  port.on("message", (request: Request) => {
    switch (request.kind) {
      case "calls":
        return reply({ kind: "answers", id: request.id, answers: answer(unpackCalls(request.packed)) });
      case "watch":
        watching ??= watch(connection);
        return;
      case "unwatch":
        clearInterval(watching);
        watching = undefined;
        return;
      case "close":
        clearInterval(watching);
        close();
        process.exit(); // of this thread alone
    }
  });
}

try {
  if (role === "writer") {
    const { journal, files, ...connection } = openWriter(options);
    const close = () => files.closeWith(connection.close);
    serve(connection, createWriteCalls({ path, connection, journal, files }), close);
    reply({ kind: "opened", journal });
  } else {
    const connection = { reader: openReader, source: openSource, backup: openAsItIs }[role](options);
    serve(connection, (calls) => readCalls(connection, calls));
    reply({ kind: "opened", journal: undefined });
  }
} catch (error) {
  reply({ kind: "fault", fault: faultOf(error, path) }); // and the thread ends, since it listens to nothing
}
