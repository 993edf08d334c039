import { requireFile } from "../database/location.ts";
import type { InputOf, OutputOf, Reads } from "../sql/operations.ts";
import { type DatabaseOptions, outputOf } from "./database.ts";
import { createKeptThread } from "./kept-thread.ts";
import { packCalls } from "./packed-rows.ts";
import { notAsked } from "./protocol.ts";
import { startThread, type Thread } from "./thread.ts";

/** A file that is there, and is only read: it is not made, migrated or set up in another way. */
export interface SourceDatabase {
  /** Opens the file, if it is not open. */
  open(): Promise<void>;
  read<Name extends keyof Reads>(name: Name, input: InputOf<Name>): Promise<OutputOf<Name>>;
  /** Asks a thread of its own, which ends with its answer. */
  readApart<Name extends keyof Reads>(name: Name, input: InputOf<Name>): Promise<OutputOf<Name>>;
  close(): Promise<void>;
}

/** `source` must hold our tables, `backup` need not. */
export function createSourceDatabase(role: "source" | "backup", options: DatabaseOptions): SourceDatabase {
  const reader = createKeptThread(start);

  async function start(onEnded: () => void): Promise<Thread> {
    const { path, durability } = options;
    await requireFile(options);
    const data = { role, path, durability, busyMs: options.busyMs() };
    return startThread(data, { onChanged() {}, onEnded });
  }

  return {
    async open() {
      await reader.get();
    },
    read: async (name, input) => ask(await reader.get(), name, input),
    async readApart(name, input) {
      const thread = await start(() => {});
      return ask(thread, name, input).finally(() => thread.close());
    },
    close: reader.close,
  };
}

async function ask<Name extends keyof Reads>(
  thread: Thread,
  name: Name,
  input: InputOf<Name>,
): Promise<OutputOf<Name>> {
  const [answer = notAsked] = await thread.call(
    packCalls([{ name, input, untilMs: Number.POSITIVE_INFINITY }]),
  );
  return outputOf(answer);
}
