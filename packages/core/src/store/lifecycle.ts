/** What every store and inbox has besides its work. */
export interface Lifecycle {
  /**
   * Resolves once the store is reachable and set up as it must be. Rejects with `store_unavailable`, or with the code
   * of the mistake. Operations wait for it by themselves; await it to fail at start-up.
   */
  ready?(): Promise<void>;

  /**
   * Creates or updates what the store keeps its data in. Safe when many processes do it at the same time. Left out where
   * there is nothing to do.
   */
  migrate?(): Promise<void>;

  /** The time by the store's own clock, where that is not this machine's. */
  now?(): Promise<Date>;

  /** Frees what the store opened itself. Safe to call twice. */
  close(): Promise<void>;
}
