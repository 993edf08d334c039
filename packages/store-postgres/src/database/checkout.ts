import { setTimeout as delay } from "node:timers/promises";
import type { PostgresPoolClient } from "kysely";
import { cancelQuery, reachServer } from "./cancel-query.ts";

/** The event of a client of `pg` whose connection has closed, which kysely's types omit. */
interface Emitter {
  once?(event: "end", listener: () => void): unknown;
}

/** A connection, from when the pool gives it out until it is released. */
export interface Checkout {
  readonly client: PostgresPoolClient;
  /**
   * Ends the query that nobody waits for any more. The connection keeps its place in the pool until the query has ended, since its
   * backend lives that long: with a new connection in its place, a locked table would use up all connections of the server.
   */
  giveUp(): void;
  /** Waits as long, and then cuts the connection, if the server answers others. Cancels nothing. */
  giveUpCommit(): void;
}

const retryMs = 1000;

/**
 * Calls `onReleased` once the pool has the connection back. `patienceMs`: how long a server that takes our requests to
 * cancel may leave a query without an answer. Then the connection itself must be dead, and is cut.
 */
export function checkOut(client: PostgresPoolClient, patienceMs: number, onReleased: () => void): Checkout {
  const release = client.release; // made anew by the pool for each time that it gives out the client
  const ended = Promise.withResolvers<true>();
  const closed = Promise.withResolvers<void>();
  let isGivenUp = false;

  function endsWithin(ms: number): Promise<boolean> {
    return Promise.race([ended.promise, delay(ms, false, { ref: false })]);
  }

  async function end(ask: typeof cancelQuery): Promise<void> {
    while (!(await ask(client, ended.promise))) {
      if (await endsWithin(retryMs)) return;
    }
    if (!(await endsWithin(patienceMs))) cut(client);
  }

  function giveUp(ask: typeof cancelQuery): void {
    if (isGivenUp) return;
    isGivenUp = true;
    (client as Emitter).once?.("end", closed.resolve);
    void end(ask);
  }

  client.release = (destroy = false) => {
    ended.resolve(true);
    release.call(client, destroy || isGivenUp);
    if (!isGivenUp) return onReleased();
    // a request that the server takes late would cancel the next one's query, and a new connection would be one too many until
    // the server has closed this one
    void Promise.race([closed.promise, delay(patienceMs, undefined, { ref: false })]).then(onReleased);
  };
  return {
    client,
    giveUp: () => giveUp(cancelQuery),
    giveUpCommit: () => giveUp(reachServer),
  };
}

/** Destroys the socket, since a server that does not answer would not close the connection. */
function cut(client: PostgresPoolClient): void {
  (client as { connection?: { stream?: { destroy?(): void } } }).connection?.stream?.destroy?.();
}
