import type { Thread } from "./thread.ts";

/** A thread that is started when it is first needed, and again after it has ended. */
export interface KeptThread {
  /** Rejects while it cannot be started; the next call tries again. */
  get(): Promise<Thread>;
  /** Calls `use` if it is running. */
  ifRunning(use: (thread: Thread) => void): void;
  /** It has ended. */
  forget(): void;
  /** Closes it, if it was ever started. */
  close(): Promise<void>;
}

export function createKeptThread(start: () => Promise<Thread>): KeptThread {
  let started: Promise<Thread> | undefined;
  return {
    get() {
      started ??= start().catch((error: unknown) => {
        started = undefined;
        throw error;
      });
      return started;
    },
    ifRunning(use) {
      started?.then(use, () => {});
    },
    forget() {
      started = undefined;
    },
    async close() {
      const thread = await started?.catch(() => undefined);
      await thread?.close();
    },
  };
}
