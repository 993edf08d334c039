import { FaultError } from "../database/errors.ts";
import type { Durability, Journal } from "../database/journal.ts";
import { type Location, prepareLocation } from "../database/location.ts";
import type { InputOf, OutputOf, Reads, Writes } from "../sql/operations.ts";
import { gatherCalls } from "./gathered-calls.ts";
import { createHints, type Hints } from "./hints.ts";
import { createKeptThread } from "./kept-thread.ts";
import { rowCountOf } from "./packed-rows.ts";
import type { Answer } from "./protocol.ts";
import { startThread, type Thread } from "./thread.ts";
import { uptimeMs } from "./uptime.ts";

export interface DatabaseOptions extends Location {
  readonly durability: Durability;
  /** How long to wait for another process's lock while the file is opened, in ms; asked each time. */
  busyMs(): number;
}

/** The file as one process sees it: a thread that writes, one that answers handlers, and one for long questions. */
export interface Database {
  /** Opens the file, if it is not open. */
  open(): Promise<Journal>;
  /** Is not begun once `timeoutMs` have passed. */
  write<Name extends keyof Writes>(
    name: Name,
    input: InputOf<Name>,
    timeoutMs: number,
  ): Promise<OutputOf<Name>>;
  read<Name extends keyof Reads>(
    name: Name,
    input: InputOf<Name>,
    timeoutMs: number,
  ): Promise<OutputOf<Name>>;
  readonly hints: Hints;
  close(): Promise<void>;
}

/** What goes through the whole table: it would keep a handler waiting. */
const longReads: readonly (keyof Reads)[] = ["count", "list", "stats"];

/** So many rows fill a transaction by themselves. With fewer, calls wait for each other and share its sync. */
const manyRows = 1000;

export function createDatabase(options: DatabaseOptions): Database {
  const writer = createKeptThread((onEnded) => prepareLocation(options).then(() => start("writer", onEnded)));
  const startReader = (onEnded: () => void) => writer.get().then(() => start("reader", onEnded));
  const [reader, longReader] = [createKeptThread(startReader), createKeptThread(startReader)];
  const write = gatherCalls(writer, { maxItems: 500, maxMessages: 1 });
  const writeMany = gatherCalls(writer, { maxItems: 500, maxMessages: 2 }); // the next one is there when the thread is done
  const read = gatherCalls(reader, { maxItems: 500, maxMessages: 1 });
  const readLong = gatherCalls(longReader, { maxItems: 1, maxMessages: 1 }); // the others may not be wanted by then
  const hints = createHints((isOn) => writer.ifRunning((thread) => thread.watch(isOn)));
  const underWay = new Set<Promise<unknown>>();

  async function start(role: "writer" | "reader", onEnded: () => void): Promise<Thread> {
    const { path, durability } = options;
    const data = { role, path, durability, busyMs: options.busyMs() };
    const thread = await startThread(data, { onChanged: hints.give, onEnded });
    if (role === "writer" && hints.isWatched()) thread.watch(true);
    return thread;
  }

  async function answered<Output>(answer: Promise<Answer>): Promise<Output> {
    underWay.add(answer);
    return outputOf(await answer.finally(() => underWay.delete(answer)));
  }

  return {
    hints,
    async open() {
      const { journal } = await writer.get();
      return journal as Journal;
    },
    write(name, input, timeoutMs) {
      const send = rowCountOf({ input }) < manyRows ? write : writeMany;
      return answered(send({ name, input, untilMs: uptimeMs() + timeoutMs }));
    },
    read(name, input, timeoutMs) {
      const send = longReads.includes(name) ? readLong : read;
      return answered(send({ name, input, untilMs: uptimeMs() + timeoutMs }));
    },
    async close() {
      await Promise.allSettled(underWay);
      await Promise.all([reader.close(), longReader.close()]); // first, so that the writer is the last one, which tidies up the log
      await writer.close();
    },
  };
}

/** What was answered. Throws a `FaultError`. */
export function outputOf<Output>(answer: Answer): Output {
  if ("fault" in answer) throw new FaultError(answer.fault);
  return answer.output as Output;
}
