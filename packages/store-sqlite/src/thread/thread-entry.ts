// The code of a thread: opens a connection to the file, answers calls, and ends on request.
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { type Connection, pragma } from "../database/connection.ts";
import { faultOf } from "../database/faults.ts";
import { openAsItIs, openReader, openSource, openWriter } from "../database/open.ts";
import {
  type Answer,
  type Call,
  type Reply,
  type Request,
  type ThreadData,
  unpackCalls,
} from "./messages.ts";
import { createReadRunner, createWriteRunner } from "./run-calls.ts";

const port = parentPort as MessagePort;
const { role, ...options } = workerData as ThreadData;
const { path } = options;
const watchEveryMs = 50;

function reply(message: Reply): void {
  port.postMessage(message);
}

/** Reports when another connection has committed: commits of this connection do not change `data_version`. */
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
  run: (calls: readonly Call[]) => Answer[],
  close: () => void = connection.close,
): void {
  let watching: NodeJS.Timeout | undefined;
  port.on("message", (request: Request) => {
    switch (request.kind) {
      case "calls":
        return reply({ kind: "answers", id: request.id, answers: run(unpackCalls(request.packed)) });
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
        process.exit(); // ends only this thread
    }
  });
}

try {
  if (role === "writer") {
    const { journal, files, ...connection } = openWriter(options);
    const close = () => files.closeWith(connection.close);
    serve(connection, createWriteRunner({ path, connection, journal, files }), close);
    reply({ kind: "opened", journal });
  } else {
    const connection = { reader: openReader, source: openSource, backup: openAsItIs }[role](options);
    serve(connection, createReadRunner(connection, path));
    reply({ kind: "opened", journal: undefined });
  }
} catch (error) {
  reply({ kind: "fault", fault: faultOf(error, path) }); // and the thread ends, since it listens to nothing
}
