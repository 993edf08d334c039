import { coalesce } from "@esim-webhooks/core/kit";
import { type Fault, FaultError } from "../database/errors.ts";
import type { Durability, Journal } from "../database/journal.ts";
import { type Location, prepareLocation } from "../database/location.ts";
import type { InputOf, OutputOf, Reads, Writes } from "../sql/operations.ts";
import { createHints, type Hints } from "./hints.ts";
import { createKeptThread } from "./kept-thread.ts";
import { sizeOf, withPackedBodies } from "./packed-bodies.ts";
import type { Answer, Call } from "./protocol.ts";
import { startThread, type Thread } from "./thread.ts";

export interface DatabaseOptions extends Location {
  readonly durability: Durability;
  /** How long to wait for another process's lock, in ms. */
  readonly busyMs: number;
}

/** The file as one process sees it: one thread that writes, and one that answers questions. */
export interface Database {
  /** Opens the file, if it is not open. */
  open(): Promise<Journal>;
  write<Name extends keyof Writes>(
    name: Name,
    input: InputOf<Name>,
    signal: AbortSignal,
  ): Promise<OutputOf<Name>>;
  read<Name extends keyof Reads>(name: Name, input: InputOf<Name>): Promise<OutputOf<Name>>;
  readonly hints: Hints;
  close(): Promise<void>;
}

/** A write that waits for the next message to the writer. */
interface Waiting {
  readonly call: Call;
  readonly signal: AbortSignal;
}

const gathered = {
  maxItems: 500,
  maxFlushes: 1, // the next message gathers while the writer syncs this one
  maxSize: 8 * 1024 * 1024,
  sizeOf: ({ call }: Waiting) => sizeOf(call),
};

export function createDatabase(options: DatabaseOptions): Database {
  const writer = createKeptThread((onEnded) => prepareLocation(options).then(() => start("writer", onEnded)));
  const reader = createKeptThread((onEnded) => writer.get().then(() => start("reader", onEnded)));
  const hints = createHints((isOn) => writer.ifRunning((thread) => thread.watch(isOn)));
  const underWay = new Set<Promise<unknown>>();

  async function start(role: "writer" | "reader", onEnded: () => void): Promise<Thread> {
    const { path, durability, busyMs } = options;
    const thread = await startThread({ role, path, durability, busyMs }, { onChanged: hints.give, onEnded });
    if (role === "writer" && hints.isWatched()) thread.watch(true);
    return thread;
  }

  /** A call that cannot cross to the thread fails by itself: the others of its message are sent again without it. */
  async function answersOf(asked: readonly Call[]): Promise<readonly Answer[]> {
    const thread = await writer.get();
    const { calls, transferred } = withPackedBodies(asked);
    try {
      return await thread.call(calls, transferred);
    } catch (error) {
      if (!(error instanceof DOMException && error.name === "DataCloneError")) throw error;
      if (asked.length === 1) return [{ fault: { ...notCloned, cause: error.message } }];
      return (await Promise.all(asked.map((call) => answersOf([call])))).flat();
    }
  }

  const writeOne = coalesce(async (waiting: readonly Waiting[]): Promise<readonly Answer[]> => {
    const wanted = waiting.filter(({ signal }) => !signal.aborted); // nobody waits for the others any more
    const answers = wanted.length === 0 ? [] : await answersOf(wanted.map(({ call }) => call));
    const answerOf = new Map(wanted.map((each, index) => [each, answers[index]]));
    return waiting.map((each) => answerOf.get(each) ?? notAsked);
  }, gathered);

  return {
    hints,
    async open() {
      const { journal } = await writer.get();
      return journal as Journal;
    },
    async write(name, input, signal) {
      const writing = writeOne({ call: { name, input }, signal });
      underWay.add(writing);
      return outputOf(await writing.finally(() => underWay.delete(writing)));
    },
    async read(name, input) {
      return ask(await reader.get(), name, input);
    },
    async close() {
      await Promise.allSettled(underWay);
      await reader.close(); // first, so that the writer is the last one, which tidies up the log
      await writer.close();
    },
  };
}

/** Asks one question. */
export async function ask<Name extends keyof Reads>(
  thread: Thread,
  name: Name,
  input: InputOf<Name>,
): Promise<OutputOf<Name>> {
  const [answer = notAsked] = await thread.call([{ name, input }]);
  return outputOf(answer);
}

const notCloned: Fault = {
  code: "store_unavailable",
  problem: "What was asked cannot be handed to the thread of the database.",
  remedy: "Its cause names the value.",
};

const notAsked: Answer = {
  fault: { code: "store_unavailable", problem: "The database was not asked.", remedy: "Ask again." },
};

function outputOf<Output>(answer: Answer): Output {
  if ("fault" in answer) throw new FaultError(answer.fault);
  return answer.output as Output;
}
