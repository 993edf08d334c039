import { setTimeout as delay } from "node:timers/promises";
import type { PostgresPoolClient } from "kysely";
import { cancelQuery } from "./cancel-query.ts";

/** The event of a client of `pg` whose connection has closed, which kysely's types omit. */
interface Emitter {
  once?(event: "end", listener: () => void): unknown;
}

/** Resolves to whether the client's backend is at work: false if it waits for its client, or the driver is not `pg`; true if that is unknown. */
export type IsBusy = (client: PostgresPoolClient) => Promise<boolean>;

/** A connection that the pool has given out and that is not released yet. */
export interface Checkout {
  readonly client: PostgresPoolClient;
  /**
   * Cancels the query, since its caller no longer waits. The connection keeps its place in the pool until the query has ended, because
   * its backend lives that long. If the pool opened a new one instead, queries that wait for a locked table would use up the server's
   * connections.
   */
  giveUp(): void;
  /** Does the same for a commit, but cancels nothing: cuts the connection once its backend is no longer at work, because the answer is lost then. */
  giveUpCommit(): void;
}

const retryMs = 1000;

/**
 * Watches a connection that the pool has given out, and calls `onReleased` once its place in the pool is free. When the connection is
 * released, the pool keeps it, or closes it if it is outdated (`Outdated`) or was given up.
 * @param patienceMs how long a query may stay without an answer after the server has accepted our request to cancel it. After that, the
 * connection must be dead, and is cut
 */
export function checkOut(
  client: PostgresPoolClient,
  patienceMs: number,
  isBusy: IsBusy,
  isOutdated: (client: PostgresPoolClient) => boolean,
  onReleased: () => void,
): Checkout {
  const release = client.release; // made by the pool each time that it gives out the client
  const ended = Promise.withResolvers<true>();
  const closed = Promise.withResolvers<void>();
  let isGivenUp = false;

  function endsWithin(ms: number): Promise<boolean> {
    return Promise.race([ended.promise, delay(ms, false, { ref: false })]);
  }

  async function endQuery(): Promise<void> {
    while (!(await cancelQuery(client, ended.promise))) {
      if (await endsWithin(retryMs)) return;
    }
    if (!(await endsWithin(patienceMs))) cut(client);
  }

  async function endCommit(): Promise<void> {
    do {
      if (await endsWithin(patienceMs)) return;
    } while (await isBusy(client));
    cut(client);
  }

  function giveUp(end: () => Promise<void>): void {
    if (isGivenUp) return;
    isGivenUp = true;
    (client as Emitter).once?.("end", closed.resolve);
    void end();
  }

  client.release = (destroy = false) => {
    ended.resolve(true);
    // a connection that was given up is closed: the server may accept our request to cancel late, and would cancel the next caller's query
    release.call(client, destroy || isGivenUp || isOutdated(client));
    if (!isGivenUp) return onReleased();
    // its place in the pool stays taken until the server has closed it, at most for `patienceMs`: a new connection would be one too many
    void Promise.race([closed.promise, delay(patienceMs, undefined, { ref: false })]).then(onReleased);
  };
  return {
    client,
    giveUp: () => giveUp(endQuery),
    giveUpCommit: () => giveUp(endCommit),
  };
}

/** Destroys the socket of a client of `pg`, since a server that does not answer would not close the connection. */
export function cut(client: object): void {
  (client as { connection?: { stream?: { destroy?(): void } } }).connection?.stream?.destroy?.();
}
