/** How a store or an inbox is set up and closed. */
export interface Lifecycle {
  /**
   * Resolves once the store is reachable and its set-up is right. Rejects with `store_unavailable`, or with the code of the
   * mistake. Every operation waits for it; await it yourself to find a mistake at start-up.
   */
  ready?(): Promise<void>;

  /**
   * Creates or updates the store's tables. Safe when many processes call it at the same time. Absent if there is nothing to
   * create.
   */
  migrate?(): Promise<void>;

  /** The store's own time, if it does not use the clock of this machine. */
  now?(): Promise<Date>;

  /** Frees what the store opened itself. Safe to call twice. */
  close(): Promise<void>;
}
