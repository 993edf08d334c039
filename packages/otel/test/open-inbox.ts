import type { Handlers, InboxAdmin, InboxWriter, Worker } from "@esim-webhooks/core";
import { createWorker, type EsimEvents } from "@esim-webhooks/core";
import { bullmqInbox } from "@esim-webhooks/queue-bullmq";
import { postgresInbox } from "@esim-webhooks/store-postgres";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";

export type Engine = "SQLite" | "Postgres" | "BullMQ";

export interface OpenedInbox {
  readonly inbox: InboxWriter & InboxAdmin;
  worker(handlers: Handlers<EsimEvents>): Pick<Worker, "run" | "slots" | "sinceLastTakeMs">;
}

const timeoutMs = 60_000; // a busy machine is no fault of the inbox

/** Opens the inbox of a test in any of its processes. `where` is a file or the URL of a server, and `name` is the test's own part of it. */
export async function openInbox(engine: Engine, where: string, name: string): Promise<OpenedInbox> {
  const options = { pollMs: 20, backoff: () => 0 };
  if (engine === "BullMQ") {
    const inbox = bullmqInbox({ connection: where, name, timeoutMs });
    await inbox.ready?.();
    return { inbox, worker: (handlers) => inbox.createWorker(handlers) };
  }
  const inbox =
    engine === "SQLite"
      ? sqliteInbox({ path: where, timeoutMs })
      : postgresInbox({ url: where, schema: name, timeoutMs });
  if ("migrate" in inbox) await inbox.migrate();
  return { inbox, worker: (handlers) => createWorker<EsimEvents>(inbox, handlers, options) };
}
