import type { Writable } from "node:stream";
import { type Kysely, type PostgresPoolClient, type RawBuilder, sql } from "kysely";
import { type ConnectionHandle, createHandle, withHandle } from "./connection-handle.ts";
import { ownTyped } from "./own-types.ts";
import { inOneMessage, runSteps, type Step } from "./statements.ts";

/** The work of a transaction. A transaction that is rolled back has done nothing, so the work may run more than once. */
export type Work<T> = (transaction: Kysely<unknown>) => Promise<T>;

/** One connection, and a signal that aborts when the caller no longer waits. */
export interface OwnConnection {
  readonly connection: Kysely<unknown>;
  readonly handle: ConnectionHandle;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** Whether it sends a query before the previous one is answered. */
  readonly isPipelined: boolean;
  /** The part of `timeoutMs` that is left. */
  leftMs(): number;
}

/**
 * Runs `work` with one connection. Does not start `work` if the signal has aborted; if it aborts later, ends the query that is running, unless
 * that is the commit.
 */
export function onConnection<T>(
  db: Kysely<unknown>,
  timeoutMs: number,
  signal: AbortSignal,
  work: (own: OwnConnection) => Promise<T>,
): Promise<T> {
  const endsAt = performance.now() + timeoutMs;
  const leftMs = () => Math.max(1, endsAt - performance.now());
  const handle = createHandle();
  return withHandle({ handle, signal }, () =>
    db.connection().execute((connection) => {
      signal.throwIfAborted();
      signal.addEventListener("abort", handle.giveUp);
      const isPipelined = (handle.client as { pipeline?: boolean } | undefined)?.pipeline === true;
      return work({ connection, handle, signal, timeoutMs, isPipelined, leftMs });
    }),
  );
}

const mostTries = 5;

/** Runs `work` in a transaction, and commits it. Tries again after a conflict. */
export function commitWork<T>(own: OwnConnection, work: Work<T>): Promise<T> {
  return retryOnConflict(own, () => commitOnce(own, work));
}

/** Commits one statement, in one round trip if the connection is pipelined. */
export function commitStatement<Row>(
  own: OwnConnection,
  statement: RawBuilder<Row>,
): Promise<readonly Row[]> {
  if (own.isPipelined) return retryOnConflict(own, () => sendWithCommit(own, statement));
  return commitWork(own, async (transaction) => (await statement.execute(transaction)).rows);
}

/** Tries again when the server ended the transaction so that another could continue (40001, 40P01). */
async function retryOnConflict<T>({ signal }: OwnConnection, once: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await once();
    } catch (error) {
      if (tries === mostTries || signal.aborted || !isConflict(error)) throw error;
    }
  }
}

async function commitOnce<T>(own: OwnConnection, work: Work<T>): Promise<T> {
  const { connection, handle, signal } = own;
  try {
    const result = await beginAndRun(own, work);
    signal.throwIfAborted();
    const { rows } = await handle.runCommit(() => sql<object>`commit`.execute(connection));
    refuseRollback(rows[0]);
    return result;
  } catch (error) {
    await rollback(connection);
    throw error;
  }
}

/**
 * Sends BEGIN, the statement and COMMIT in one write. If the statement fails, the COMMIT rolls back. Nothing is cancelled, since the server
 * may have reached the COMMIT already: a statement that takes too long is ended by its `statement_timeout`.
 */
async function sendWithCommit<Row>(own: OwnConnection, statement: RawBuilder<Row>): Promise<readonly Row[]> {
  const { connection, handle } = own;
  const client = handle.client as PostgresPoolClient; // a pipelined connection has one
  const { sql: text, parameters } = statement.compile(connection);
  return handle.runCommit(async () => {
    sendTogether(client);
    const begun = begin(own);
    const answered = client.query<Row>(ownTyped(text), parameters);
    const ended = client.query("commit", []);
    const [, , { status }] = await Promise.allSettled([begun, answered, ended]); // the connection is in use until then
    if (status === "rejected") await rollback(connection); // the COMMIT was refused before it ran, so the transaction is still open
    await begun; // if it failed, the rest failed because of it
    const { rows } = await answered;
    refuseRollback(await ended);
    return rows;
  });
}

/** Throws if the server has answered a COMMIT with a ROLLBACK. */
function refuseRollback(answer: object | undefined): void {
  const { command } = (answer ?? {}) as { command?: string };
  if (command === "ROLLBACK") throw new Error("The transaction was rolled back.");
}

/** Runs `work`, and undoes it. */
export async function runAndRollBack<T>(own: OwnConnection, work: Work<T>): Promise<T> {
  try {
    return await beginAndRun(own, work);
  } finally {
    await rollback(own.connection);
  }
}

/** Rolls back. A connection on which even this fails is lost, and its server rolls back by itself. */
async function rollback(connection: Kysely<unknown>): Promise<void> {
  await sql`rollback`.execute(connection).catch(() => {});
}

/** Begins, and runs `work`. If pipelined, the first query of `work` does not wait: the server refuses it if the transaction could not begin. */
async function beginAndRun<T>(own: OwnConnection, work: Work<T>): Promise<T> {
  if (own.isPipelined) sendTogether(own.handle.client);
  const beginning = begin(own);
  if (!own.isPipelined) await beginning;
  const [began, worked] = await Promise.allSettled([beginning, work(own.connection)]);
  if (began.status === "rejected") throw began.reason; // it is why the work failed
  if (worked.status === "rejected") throw worked.reason;
  return worked.value;
}

/** Sends all messages of this event-loop tick in one write, which is one system call. */
function sendTogether(client: PostgresPoolClient | undefined): void {
  const stream = (client as { connection?: { stream?: Writable } } | undefined)?.connection?.stream;
  stream?.cork();
  process.nextTick(() => stream?.uncork());
}

/**
 * Begins a transaction. Each setting is valid until it ends: on a pool that was passed, or behind a transaction
 * pooler, the connection belongs to others as well. Our statements were written for this isolation, which may not be the role's
 * default. The server ends a transaction that a lost process has left open, so that it does not keep its locks.
 */
async function begin({ connection, handle, timeoutMs, isPipelined, leftMs }: OwnConnection): Promise<void> {
  const limit = { idle_in_transaction_session_timeout: timeoutMs };
  const steps = ["begin isolation level read committed", limit, ...settings(leftMs())];
  // kysely would hold the next query back until this one is answered
  if (isPipelined) await handle.client?.query(inOneMessage(steps), []);
  else await runSteps(connection, steps);
}

/**
 * The settings of our statements, in a transaction that has begun. The limits are below our own, so that the server's answer comes
 * first. Values are written in the form that our parsers read. A commit that did not wait for the disk would be lost with the
 * server, although the sender has its acknowledgement.
 */
export function settings(leftMs: number): readonly Step[] {
  return [
    {
      statement_timeout: Math.ceil(leftMs * 0.9),
      lock_timeout: Math.ceil(leftMs * 0.8),
      datestyle: "iso",
      bytea_output: "hex",
      extra_float_digits: 1,
    },
    "select set_config('synchronous_commit', 'on', true) where current_setting('synchronous_commit') = 'off'",
  ];
}

function isConflict(error: unknown): boolean {
  return /^40(?:001|P01)$/.test(String((error as { code?: unknown } | undefined)?.code));
}
