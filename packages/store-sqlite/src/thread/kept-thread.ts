import type { Thread } from "./thread.ts";

/** A thread that is started when it is first needed, and again after it has ended. */
export interface KeptThread {
  /** Rejects while it cannot be started; the next call tries again. */
  get(): Promise<Thread>;
  /** Calls `use` if it is running. */
  ifRunning(use: (thread: Thread) => void): void;
  /** Closes it, if it was ever started. */
  close(): Promise<void>;
}

/** `start` calls `onEnded` when the thread has ended, which may be after another one was started in its place. */
export function createKeptThread(start: (onEnded: () => void) => Promise<Thread>): KeptThread {
  let started: Promise<Thread> | undefined;

  function startOne(): Promise<Thread> {
    const forget = () => {
      if (started === own) started = undefined;
    };
    const own = start(forget).catch((error: unknown) => {
      forget();
      throw error;
    });
    return own;
  }

  return {
    get() {
      started ??= startOne();
      return started;
    },
    ifRunning(use) {
      started?.then(use, () => {});
    },
    async close() {
      const thread = await started?.catch(() => undefined);
      await thread?.close();
    },
  };
}
