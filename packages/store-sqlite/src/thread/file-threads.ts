import { WebhookError } from "@esim-webhooks/core";
import { coalesce, safeListener } from "@esim-webhooks/core/engine";
import type { Durability, Journal } from "../database/journal.ts";
import { type Location, prepareLocation } from "../database/location.ts";
import {
  type Answer,
  busyMsOf,
  type Call,
  type InputOf,
  notAsked,
  notCloned,
  type OutputOf,
  outputOf,
  packCalls,
  type Reads,
  rowCountOf,
  sizeOf,
  uptimeMs,
  type Writes,
} from "./messages.ts";
import { createKeptThread, type KeptThread, startThread, type ThreadHandle } from "./thread-handle.ts";

export interface FileThreadsOptions extends Location {
  readonly durability: Durability;
  /** How long a call of this store or inbox waits, in ms. */
  readonly timeoutMs: number;
}

/** The threads of this process that use a file: one that writes, one for short reads, such as those of handlers, and one for long reads. */
export interface FileThreads {
  /** Opens the file, if it is not open. */
  open(): Promise<Journal>;
  /** Calls the function `name` of `sql/writes.ts` in the thread that writes. The call is not started once `timeoutMs` have passed. */
  inWriter<Name extends keyof Writes>(
    name: Name,
    input: InputOf<Name>,
    timeoutMs: number,
  ): Promise<OutputOf<Name>>;
  /** The same for a function of `sql/reads.ts`, in a thread that reads. */
  inReader<Name extends keyof Reads>(
    name: Name,
    input: InputOf<Name>,
    timeoutMs: number,
  ): Promise<OutputOf<Name>>;
  readonly hints: Hints;
  /** Ends this use of the threads. They end with the last use. */
  close(): Promise<void>;
}

/** Lets workers know that there may be something to take, so that they need not wait for their next poll. */
export interface Hints {
  give(): void;
  /** Returns a function that unsubscribes. */
  on(listener: () => void): () => void;
  isWatched(): boolean;
}

/** The reads that may take long. They have a thread of their own, so that no handler waits for them. */
const longReads: readonly (keyof Reads)[] = ["count", "list", "stats", "truncateLog"];

/** A call with this many rows fills a transaction. Calls with fewer rows gather in one transaction, and share its sync. */
const manyRows = 1000;

interface Shared {
  readonly threads: FileThreads;
  readonly options: FileThreadsOptions;
  /** The `timeoutMs` of each user of the threads. */
  readonly timeouts: number[];
}

const sharedByPath = new Map<string, Shared>();

/**
 * Returns the threads of a file. All stores and inboxes of this process share them, and so the writer and its syncs. Throws
 * `invalid_option` if they run with another `durability` or `allowNetworkMount`.
 */
export function useFileThreads(caller: string, options: FileThreadsOptions): FileThreads {
  const { path, durability, allowNetworkMount, timeoutMs } = options;
  const shared = sharedByPath.get(path) ?? share(options);
  refuseOther(caller, shared, "durability", durability);
  refuseOther(caller, shared, "allowNetworkMount", allowNetworkMount);
  sharedByPath.set(path, shared);
  shared.timeouts.push(timeoutMs);
  return {
    ...shared.threads,
    async close() {
      shared.timeouts.splice(shared.timeouts.indexOf(timeoutMs), 1);
      if (shared.timeouts.length > 0) return;
      sharedByPath.delete(path);
      await shared.threads.close();
    },
  };
}

function share(options: FileThreadsOptions): Shared {
  const timeouts: number[] = [];
  return { threads: createFileThreads(options, () => busyMsOf(Math.max(...timeouts))), options, timeouts };
}

function refuseOther(
  caller: string,
  { options }: Shared,
  option: "durability" | "allowNetworkMount",
  value: string | boolean,
): void {
  if (options[option] === value) return;
  throw new WebhookError(
    "invalid_option",
    `${options.path} is open in this process with ${option} ${JSON.stringify(options[option])}, not ${JSON.stringify(value)}.`,
    "Pass the same value to both: they share one writer.",
    { where: caller },
  );
}

/** `busyMs` returns how long to wait for another process's lock while a thread opens the file, in ms. */
function createFileThreads(options: FileThreadsOptions, busyMs: () => number): FileThreads {
  const writer = createKeptThread((onEnded) => prepareLocation(options).then(() => start("writer", onEnded)));
  const startReader = (onEnded: () => void) => writer.get().then(() => start("reader", onEnded));
  const [reader, longReader] = [createKeptThread(startReader), createKeptThread(startReader)];
  const write = gatherCalls(writer, { maxItems: 500, maxMessages: 1 });
  const writeMany = gatherCalls(writer, { maxItems: 500, maxMessages: 2 }); // the second message has arrived when the thread has answered the first
  const read = gatherCalls(reader, { maxItems: 500, maxMessages: 1 });
  const readLong = gatherCalls(longReader, { maxItems: 1, maxMessages: 1 }); // one by one: callers of later reads may give up meanwhile
  const hints = createHints({
    watch: () => writer.ifRunning((thread) => thread.watch()),
    unwatch: () => writer.ifRunning((thread) => thread.unwatch()),
  });
  const underWay = new Set<Promise<unknown>>();

  async function start(role: "writer" | "reader", onEnded: () => void): Promise<ThreadHandle> {
    const { path, durability } = options;
    const data = { role, path, durability, busyMs: busyMs() };
    const thread = await startThread(data, { onChanged: hints.give, onEnded });
    if (role === "writer" && hints.isWatched()) thread.watch();
    return thread;
  }

  async function outputFrom<Output>(answer: Promise<Answer>): Promise<Output> {
    underWay.add(answer);
    return outputOf(await answer.finally(() => underWay.delete(answer)));
  }

  return {
    hints,
    async open() {
      const { journal } = await writer.get();
      return journal as Journal;
    },
    inWriter(name, input, timeoutMs) {
      const send = rowCountOf({ input }) < manyRows ? write : writeMany;
      return outputFrom(send({ name, input, untilMs: uptimeMs() + timeoutMs }));
    },
    inReader(name, input, timeoutMs) {
      const send = longReads.includes(name) ? readLong : read;
      return outputFrom(send({ name, input, untilMs: uptimeMs() + timeoutMs }));
    },
    async close() {
      await Promise.allSettled(underWay);
      await Promise.all([reader.close(), longReader.close()]); // the writer closes last: the last connection removes the log
      await writer.close();
    },
  };
}

/**
 * Returns a function that sends calls to a thread. Calls wait while `maxMessages` messages are unanswered; the next message then takes
 * at most `maxItems` of them. A call whose caller has given up is not sent.
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

  /** If a call cannot cross to the thread, only this call fails: each call of its message is sent again in a message of its own. */
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

/** Watches from the first listener that subscribes until the last one has unsubscribed. */
function createHints({ watch, unwatch }: Pick<ThreadHandle, "watch" | "unwatch">): Hints {
  const listeners = new Set<() => void>();
  return {
    give() {
      for (const listener of listeners) listener();
    },
    on(listener) {
      const own = safeListener(listener); // a function that subscribes twice is two listeners
      listeners.add(own);
      if (listeners.size === 1) watch();
      return () => {
        if (listeners.delete(own) && listeners.size === 0) unwatch();
      };
    },
    isWatched: () => listeners.size > 0,
  };
}
