/** A server or a process that can be stopped by SIGSTOP: its connections stay open, and no answer comes. */
export interface Freezable {
  pause(): Promise<void>;
  resume(): Promise<void>;
}

/** Does `work` while `frozen` stands still. It continues in any case. */
export async function whileFrozen<Result>(frozen: Freezable, work: () => Promise<Result>): Promise<Result> {
  await frozen.pause();
  try {
    return await work();
  } finally {
    await frozen.resume();
  }
}
