/** The common part of stores and inboxes: how they are set up and closed, and the sources whose ids they hold. */
export interface Lifecycle {
  /**
   * Asks the store each time. Resolves if it is reachable and its set-up is right, its tables included. Rejects with
   * `store_unavailable`, or with the code of the mistake. Operations wait for the first success; await it yourself to find a mistake
   * at start-up, and pass the store to `readinessHandler`.
   */
  ready?(): Promise<void>;

  /**
   * Creates or updates the store's tables. Safe when many processes call it at the same time. Absent if there is nothing to
   * create.
   */
  migrate?(): Promise<void>;

  /**
   * Where it keeps what it stores, for people, such as `Redis at localhost:6379`. Contains neither a user nor a password. Absent
   * if it does not know.
   */
  readonly place?: string;

  /** The store's own time, if it does not use the clock of this machine. */
  now?(): Promise<Date>;

  /**
   * The sources of all ids that it holds, each once. An import asks for them, to refuse a source that is not among them. May
   * take time in proportion to the number of ids. Absent if the store does not know.
   */
  sources?(): Promise<readonly string[]>;

  /** Frees what the store opened itself. Safe to call twice. */
  close(): Promise<void>;
}

/**
 * The time in ms since the Unix epoch by which the store says what is due: its own, else `machineMs`. The two differ if a server's clock differs
 * from this machine's.
 */
export async function storeTimeMs(store: object, machineMs: number): Promise<number> {
  const there = await (store as Partial<Lifecycle>).now?.();
  return there?.getTime() ?? machineMs;
}
