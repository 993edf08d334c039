import { EventEmitter } from "node:events";
import { createRequire, syncBuiltinESMExports } from "node:module";
import type { Connection } from "../../packages/store-sqlite/src/database/connection.ts";
import { faultOf } from "../../packages/store-sqlite/src/database/faults.ts";
import {
  openAsItIs,
  openReader,
  openSource,
  openWriter,
} from "../../packages/store-sqlite/src/database/open.ts";
import {
  type Answer,
  type Call,
  type Reply,
  type Request,
  type ThreadData,
  unpackCalls,
} from "../../packages/store-sqlite/src/thread/messages.ts";
import { createReadRunner, createWriteRunner } from "../../packages/store-sqlite/src/thread/run-calls.ts";

interface Opened {
  readonly reply: Reply;
  readonly answer: (calls: readonly Call[]) => readonly Answer[];
  readonly close: () => void;
}

/**
 * Lets the threads of `sqliteInbox` and the like run in the main thread, as in `lab/simulation`: to start one takes ten times as long as
 * all it does here. The code that a thread runs for a message is the code of the package.
 */
export function installInlineThreads(): void {
  createRequire(import.meta.url)("node:worker_threads").Worker = InlineThread;
  syncBuiltinESMExports();
}

class InlineThread extends EventEmitter {
  #opened: Opened | undefined;

  constructor(_file: URL, { workerData }: { readonly workerData: ThreadData }) {
    super();
    setImmediate(() => {
      try {
        this.#opened = open(workerData);
        this.emit("message", this.#opened.reply);
      } catch (error) {
        this.emit("message", { kind: "fault", fault: faultOf(error, workerData.path) } satisfies Reply);
        this.emit("exit");
      }
    });
  }

  postMessage(request: Request): void {
    setImmediate(() => {
      if (request.kind === "close") this.#close();
      if (request.kind !== "calls" || this.#opened === undefined) return;
      const answers = this.#opened.answer(unpackCalls(request.packed));
      this.emit("message", { kind: "answers", id: request.id, answers } satisfies Reply);
    });
  }

  #close(): void {
    try {
      this.#opened?.close();
    } catch (error) {
      this.emit("error", error);
    }
    this.emit("exit");
  }

  ref(): void {}
  unref(): void {}
}

function open({ role, ...options }: ThreadData): Opened {
  if (role === "writer") {
    const { journal, files, ...connection } = openWriter(options);
    const answer = createWriteRunner({ path: options.path, connection, journal, files });
    return { reply: { kind: "opened", journal }, answer, close: () => files.closeWith(connection.close) };
  }
  const connection: Connection = { reader: openReader, source: openSource, backup: openAsItIs }[role](
    options,
  );
  const answer = createReadRunner(connection, options.path);
  return { reply: { kind: "opened", journal: undefined }, answer, close: connection.close };
}
