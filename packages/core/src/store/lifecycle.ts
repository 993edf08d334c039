/** The common part of stores and inboxes: how they are set up and closed, and the sources whose ids they hold. */
export interface Lifecycle {
  /**
   * Asks the store each time. Resolves if the store is reachable and its set-up is right, its tables included. Rejects with
   * `store_unavailable`, or with the code of the mistake. Operations make this check themselves until it has succeeded once; await it to
   * find a mistake at start-up. `readinessHandler` calls it.
   */
  ready?(): Promise<void>;

  /**
   * Creates or updates the store's tables. Safe when many processes call it at the same time. Absent if there is nothing to
   * create.
   */
  migrate?(): Promise<void>;

  /**
   * Where the store keeps its data, for people, such as `Redis at localhost:6379`. Contains neither a user nor a password. Absent
   * if the store does not know.
   */
  readonly place?: string;

  /** The store's own time, if it does not use the clock of this machine. */
  now?(): Promise<Date>;

  /**
   * The sources of all ids that the store holds, each once. An import asks for them, to refuse a source that is not among them. May
   * take time in proportion to the number of ids. Absent if the store cannot list them.
   */
  sources?(): Promise<readonly string[]>;

  /** Frees what the store opened itself. Safe to call twice. */
  close(): Promise<void>;
}

/**
 * Resolves to the time by which the store decides what is due, in ms since the Unix epoch: the store's own time, or `machineMs` if it uses the
 * clock of this machine.
 */
export async function storeTimeMs(store: object, machineMs: number): Promise<number> {
  const there = await (store as Partial<Lifecycle>).now?.();
  return there?.getTime() ?? machineMs;
}
