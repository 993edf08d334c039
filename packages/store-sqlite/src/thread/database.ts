import { coalesce, safeListener } from "@esim-webhooks/core/engine";
import { FaultError } from "../database/faults.ts";
import type { Durability, Journal } from "../database/journal.ts";
import { type Location, prepareLocation } from "../database/location.ts";
import { packCalls, rowCountOf, sizeOf } from "./packed-rows.ts";
import {
  type Answer,
  type Call,
  type InputOf,
  notAsked,
  notCloned,
  type OutputOf,
  type Reads,
  uptimeMs,
  type Writes,
} from "./protocol.ts";
import { createKeptThread, type KeptThread, startThread, type Thread } from "./thread.ts";

export interface DatabaseOptions extends Location {
  readonly durability: Durability;
  /** How long to wait for another process's lock while the file is opened, in ms; asked each time. */
  busyMs(): number;
}

/** The file as one process sees it: a thread that writes, one that answers handlers, and one for long reads. */
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

/** Lets workers know that there may be something to take, so that they need not wait for their next poll. */
export interface Hints {
  give(): void;
  /** Returns a function that unsubscribes. */
  on(listener: () => void): () => void;
  isWatched(): boolean;
}

/** The reads that may take long: they would keep a handler waiting. */
const longReads: readonly (keyof Reads)[] = ["count", "list", "stats", "truncateLog"];

/** This many rows fill a transaction. Calls with fewer wait for each other and share its sync. */
const manyRows = 1000;

export function createDatabase(options: DatabaseOptions): Database {
  const writer = createKeptThread((onEnded) => prepareLocation(options).then(() => start("writer", onEnded)));
  const startReader = (onEnded: () => void) => writer.get().then(() => start("reader", onEnded));
  const [reader, longReader] = [createKeptThread(startReader), createKeptThread(startReader)];
  const write = gatherCalls(writer, { maxItems: 500, maxMessages: 1 });
  const writeMany = gatherCalls(writer, { maxItems: 500, maxMessages: 2 }); // the thread finds the next one when it is done
  const read = gatherCalls(reader, { maxItems: 500, maxMessages: 1 });
  const readLong = gatherCalls(longReader, { maxItems: 1, maxMessages: 1 }); // callers of the next ones may give up meanwhile
  const hints = createHints({
    watch: () => writer.ifRunning((thread) => thread.watch()),
    unwatch: () => writer.ifRunning((thread) => thread.unwatch()),
  });
  const underWay = new Set<Promise<unknown>>();

  async function start(role: "writer" | "reader", onEnded: () => void): Promise<Thread> {
    const { path, durability } = options;
    const data = { role, path, durability, busyMs: options.busyMs() };
    const thread = await startThread(data, { onChanged: hints.give, onEnded });
    if (role === "writer" && hints.isWatched()) thread.watch();
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

/**
 * Sends calls to a thread. While it works, the next calls gather, and are then done together as one message. A call whose caller has
 * given up is not sent. `maxItems`: how many calls a message has at most. `maxMessages`: how many messages are unanswered at most.
 */
function gatherCalls(
  kept: KeptThread,
  { maxItems, maxMessages }: { readonly maxItems: number; readonly maxMessages: number },
): (call: Call) => Promise<Answer> {
  return coalesce(sendTogether, {
    maxItems,
    maxFlushes: maxMessages,
    maxSize: 8 * 1024 * 1024,
    sizeOf,
  });

  async function sendTogether(waiting: readonly Call[]): Promise<readonly Answer[]> {
    const now = uptimeMs();
    const wanted = waiting.filter(({ untilMs }) => untilMs > now);
    const answers = wanted.length === 0 ? [] : await answersOf(wanted);
    const answerOf = new Map(wanted.map((each, index) => [each, answers[index]]));
    return waiting.map((each) => answerOf.get(each) ?? notAsked);
  }

  /** A call that cannot cross to the thread fails by itself: the others of its message are sent again without it. */
  async function answersOf(waiting: readonly Call[]): Promise<readonly Answer[]> {
    const thread = await kept.get();
    try {
      return await thread.call(packCalls(waiting));
    } catch (error) {
      if (!(error instanceof DOMException && error.name === "DataCloneError")) throw error;
      if (waiting.length === 1) return [{ fault: { ...notCloned, cause: error.message } }];
      return (await Promise.all(waiting.map((each) => answersOf([each])))).flat();
    }
  }
}

/** The output of a call. Throws its fault as a `FaultError`. */
export function outputOf<Output>(answer: Answer): Output {
  if ("fault" in answer) throw new FaultError(answer.fault);
  return answer.output as Output;
}

/** Watches from the first listener that subscribes until the last one has unsubscribed. */
function createHints({ watch, unwatch }: Pick<Thread, "watch" | "unwatch">): Hints {
  const listeners = new Set<() => void>();
  return {
    give() {
      for (const listener of listeners) listener();
    },
    on(listener) {
      const own = safeListener(listener); // one that subscribes twice is two
      listeners.add(own);
      if (listeners.size === 1) watch();
      return () => {
        if (listeners.delete(own) && listeners.size === 0) unwatch();
      };
    },
    isWatched: () => listeners.size > 0,
  };
}
