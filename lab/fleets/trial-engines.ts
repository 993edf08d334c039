// Engines with their history and effects, on which fleets run.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { postgresInbox } from "@esim-webhooks/store-postgres";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import { Queue } from "bullmq";
import { checkQueueHistory, openPostgresHistory, openSqliteHistory } from "../histories.ts";
import type { CheckedHistory } from "../model/trace.ts";
import { queue } from "./engines.ts";

export interface TrialEngine {
  /** Compares the committed changes of all rows with docs/state-machine.md. */
  history(): Promise<CheckedHistory>;
  /** The event of each effect that a handler has written with `context.tx`; undefined where there are none. */
  effects?(): Promise<readonly string[]>;
  close(): Promise<void>;
}

export async function createSqlite(): Promise<TrialEngine & { readonly place: string }> {
  const folder = mkdtempSync(join(tmpdir(), "esim-webhooks-fleets-"));
  const place = join(folder, "events.db");
  const inbox = sqliteInbox({ path: place });
  await inbox.ready();
  await inbox.close();
  const { check, query, close } = openSqliteHistory(place);
  await query("create table effect (event text not null)");
  return {
    place,
    history: check,
    effects: () => query("select event from effect"),
    async close() {
      await close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Creates the tables in the server of a URL. Reads them from there later, too, also from the server that then has the address. */
export async function createPostgres(url: string): Promise<TrialEngine> {
  const inbox = postgresInbox({ url });
  await inbox.migrate();
  await inbox.close();
  const { check, query, close } = await openPostgresHistory(url, "esim_webhooks");
  await query("create table esim_webhooks.effect (event text)"); // no constraint that would help
  return { history: check, effects: () => query("select event from esim_webhooks.effect"), close };
}

/** Has the queue keep the history of all of its jobs. */
export async function createBullmq(url: string): Promise<TrialEngine> {
  const events = new Queue(queue, { connection: { url }, streams: { events: { maxLen: 1_000_000 } } });
  events.on("error", () => {});
  await events.waitUntilReady();
  await events.close();
  return { history: () => checkQueueHistory(url, queue), async close() {} };
}
