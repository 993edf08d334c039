import { setTimeout as delay } from "node:timers/promises";
import { Kysely, PostgresDriver, type PostgresPoolClient } from "kysely";
import { cancelQuery } from "./cancel-query.ts";
import { propsWith } from "./own-types.ts";
import type { IsAtWork } from "./working-backends.ts";

/** A connection of one operation, or of one transaction of a handler. */
export interface HeldConnection {
  readonly db: Kysely<unknown>;
  /** Undefined if a kysely instance has the connection, which is then never cancelled or cut. */
  readonly client?: PostgresPoolClient;
  /** Whether the pool closes it once it is released, so that the server rolls back. */
  readonly isGivenUp: boolean;
  /**
   * To be called when its caller no longer waits. The server's own limits end a query of ours. If there is no answer for `timeoutMs`
   * more, cuts the connection. Until then it keeps its place in the pool, since its backend lives that long.
   */
  giveUp(): void;
  /** Gives it up, and has the server end the query of a handler, which has no limit. Cancels no commit. */
  cancel(): void;
  /**
   * Waits for the answer to a COMMIT. A server whose commit waits for a synchronous standby would take a request to cancel as permission
   * to commit without it. So the connection is cut only once its backend is not at work any more, and the answer must be lost.
   */
  committing<T>(answer: Promise<T>): Promise<T>;
  release(): void;
}

/** Takes a connection. Rejects when the signal aborts first. */
export type Hold = (signal: AbortSignal) => Promise<HeldConnection>;

export async function holdClient(
  client: PostgresPoolClient,
  { db, timeoutMs, isAtWork }: { db: Kysely<unknown>; timeoutMs: number; isAtWork: IsAtWork },
): Promise<HeldConnection> {
  const driver = new PostgresDriver({
    pool: { options: {}, connect: async () => client, end: async () => {} },
  });
  await driver.init();
  const connection = await driver.acquireConnection();
  let last: Promise<unknown> = Promise.resolve();
  const props = propsWith(db, (consumer) => {
    const next = last.then(() => consumer(connection)); // pg is given one query at a time
    last = next.catch(() => {});
    return next;
  });
  const released = Promise.withResolvers<true>();
  let isGivenUp = false;
  let isCommitting = false;

  async function end(): Promise<void> {
    do {
      if (await Promise.race([released.promise, delay(timeoutMs, false, { ref: false })])) return;
    } while (isCommitting && (await isAtWork(client)));
    cut(client);
  }

  function giveUp(): void {
    if (isGivenUp) return;
    isGivenUp = true;
    void end();
  }

  return {
    db: new Kysely<unknown>(props),
    client,
    get isGivenUp() {
      return isGivenUp;
    },
    giveUp,
    cancel() {
      if (!isCommitting && !isGivenUp) cancelQuery(client);
      giveUp();
    },
    async committing(answer) {
      isCommitting = true;
      try {
        return await answer;
      } finally {
        isCommitting = false;
      }
    },
    release() {
      released.resolve(true);
      client.release(isGivenUp); // a late request to cancel would meet the next one's query
    },
  };
}

/** Destroys the socket of a client of `pg`, since a server that does not answer would not close the connection. */
function cut(client: object): void {
  (client as { connection?: { stream?: { destroy?(): void } } }).connection?.stream?.destroy?.();
}

/** Holds a connection of a kysely instance, which only the instance itself can close. */
export function holdOf(kysely: Kysely<unknown>): Hold {
  return () =>
    new Promise((resolve, reject) => {
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      const held = {
        isGivenUp: false,
        giveUp() {},
        cancel() {},
        committing: <T>(answer: Promise<T>) => answer,
      };
      kysely
        .connection()
        .execute((db) => {
          resolve({ ...held, db, release });
          return released;
        })
        .catch(reject);
    });
}
