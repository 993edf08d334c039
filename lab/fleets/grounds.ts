// An engine with its history and effects, on which a fleet runs.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { postgresInbox } from "@esim-webhooks/store-postgres";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import { Queue } from "bullmq";
import pg from "pg";
import { queueEvents } from "../../test/under-fire/bullmq.ts";
import {
  type CheckedHistory,
  checkHistory,
  checkQueueEvents,
  postgresHistory,
  postgresHistoryOf,
  sqliteHistory,
  sqliteHistoryIn,
} from "../model/trace.ts";
import { queue } from "./engines.ts";

export interface Ground {
  /** Compares the committed changes of all rows with docs/state-machine.md. */
  history(): Promise<CheckedHistory>;
  /** The event of each effect that a handler has written with `context.tx`; undefined where there are none. */
  effects?(): Promise<readonly string[]>;
  close(): Promise<void>;
}

export async function sqliteGround(): Promise<Ground & { readonly place: string }> {
  const folder = mkdtempSync(join(tmpdir(), "esim-webhooks-fleets-"));
  const place = join(folder, "events.db");
  const inbox = sqliteInbox({ path: place });
  await inbox.ready();
  await inbox.close();
  const database = new DatabaseSync(place, { timeout: 60_000 });
  database.exec(`create table effect (event text not null); ${sqliteHistory()}`);
  return {
    place,
    history: async () => checkHistory(sqliteHistoryIn(database)),
    effects: async () =>
      database
        .prepare("select event from effect")
        .all()
        .map(({ event }) => String(event)),
    async close() {
      database.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Creates the tables in the server of a URL. Reads them from there later, too, also from the server that then has the address. */
export async function postgresGround(url: string): Promise<Ground> {
  const inbox = postgresInbox({ url });
  await inbox.migrate();
  await inbox.close();
  async function query(text: string): Promise<readonly Record<string, unknown>[]> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    return client
      .query(text)
      .then(({ rows }) => rows)
      .finally(() => client.end());
  }
  await query(postgresHistory("esim_webhooks"));
  await query("create table esim_webhooks.effect (event text)"); // no constraint that would help
  return {
    history: async () => checkHistory((await query(postgresHistoryOf("esim_webhooks"))) as never),
    effects: async () =>
      (await query("select event from esim_webhooks.effect")).map(({ event }) => String(event)),
    async close() {},
  };
}

/** Has the queue keep the history of all of its jobs. */
export async function bullmqGround(url: string): Promise<Ground> {
  const events = new Queue(queue, { connection: { url }, streams: { events: { maxLen: 1_000_000 } } });
  events.on("error", () => {});
  await events.waitUntilReady();
  await events.close();
  return { history: async () => checkQueueEvents(await queueEvents(url)), async close() {} };
}
