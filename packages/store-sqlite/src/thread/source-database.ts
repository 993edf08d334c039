import { requireFile } from "../database/location.ts";
import type { InputOf, OutputOf, Reads } from "../sql/operations.ts";
import { ask, type DatabaseOptions } from "./database.ts";
import { createKeptThread } from "./kept-thread.ts";
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

export function createSourceDatabase(options: DatabaseOptions): SourceDatabase {
  const reader = createKeptThread(start);

  async function start(onEnded: () => void): Promise<Thread> {
    const { path, durability, busyMs } = options;
    await requireFile(options);
    return startThread({ role: "source", path, durability, busyMs }, { onChanged() {}, onEnded });
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
