import { setTimeout as delay } from "node:timers/promises";
import type { PostgresClient, PostgresClientConstructor, PostgresPool } from "kysely";
import { cut, type IsBusy } from "./checkout.ts";
import { ownTyped } from "./own-types.ts";

/** The event of a client of `pg` whose connection is lost, which kysely's types omit. */
interface Emitter {
  on?(event: "error", listener: () => void): unknown;
}

const pauseMs = 1000;
const askMs = 30_000; // with a shorter time, a frozen server would find many questions once it runs again

/** Returns a function that asks the server one question at a time, for all clients of the pool that want to know, and at most one a second. */
export function busyBackends(pool: PostgresPool): IsBusy {
  let pause: Promise<void> = Promise.resolve();
  let answer: Promise<ReadonlySet<number> | undefined> | undefined;

  async function ask(Client: PostgresClientConstructor): Promise<ReadonlySet<number> | undefined> {
    await pause;
    try {
      return await busyOn(new Client(pool.options));
    } catch {
      return undefined;
    } finally {
      answer = undefined;
      pause = delay(pauseMs, undefined, { ref: false });
    }
  }

  return async (client) => {
    const { processID } = client as { processID?: number | null };
    if (typeof processID !== "number" || pool.Client === undefined) return false; // a client of another driver
    answer ??= ask(pool.Client);
    return (await answer)?.has(processID) ?? true;
  };
}

/** The process ids of the server's backends at work. Closes the client. */
async function busyOn(client: PostgresClient): Promise<ReadonlySet<number>> {
  const timer = setTimeout(cut, askMs, client);
  (client as Emitter).on?.("error", () => {});
  try {
    await client.connect();
    const { rows } = await client.query<{ pid: number }>(
      ownTyped(`select pid from pg_stat_activity
      where backend_type = 'client backend' and wait_event_type is distinct from 'Client'`),
      [],
    );
    await client.end();
    return new Set(rows.map(({ pid }) => pid));
  } finally {
    clearTimeout(timer);
    cut(client);
  }
}
