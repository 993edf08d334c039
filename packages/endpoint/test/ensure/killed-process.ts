import { createClient, createLimiter } from "@esim-webhooks/client";
import { fileKeySource } from "@esim-webhooks/core/key-file";
import { sqliteInbox, sqliteState } from "@esim-webhooks/store-sqlite";
import { ensureEndpoint } from "../../src/ensure/ensure-endpoint.ts";
import { replaceEndpoint } from "../../src/ensure/replace-endpoint.ts";
import { reconcile } from "../../src/reconcile/reconcile.ts";
import { fastClock } from "../fast-clock.ts";
import { killedAt } from "./killed-at.ts";

/** What the process is to do, as JSON in its first argument. */
export interface Task {
  readonly baseUrl: string;
  readonly credentials: { readonly clientId: string; readonly clientSecret: string };
  readonly url: string;
  readonly eventTypes: readonly string[];
  readonly keyFile: string;
  readonly database: string;
  readonly since: string;
  readonly isReplacement: boolean;
  /** At which moment the process kills itself: before or after one of its calls and writes. */
  readonly fatal: number;
}

const task = JSON.parse(process.argv[2] ?? "") as Task;
const { baseUrl, credentials, url, eventTypes, database } = task;
const { api, keyStore, killed } = killedAt(
  task.fatal,
  createClient({ baseUrl, ...credentials, limiter: createLimiter({ calls: 1000 }) }),
  fileKeySource(task.keyFile),
);
void killed.then(() => process.kill(process.pid, "SIGKILL"));
if (task.isReplacement) {
  const file = { path: database, timeoutMs: 60_000 }; // a busy machine is no fault of the store
  const inbox = sqliteInbox(file);
  const state = sqliteState(file);
  const { reconciled } = await replaceEndpoint(api, {
    url,
    eventTypes,
    keyStore,
    clock: fastClock(),
    reconcile: ({ endpoint, ...pass }) =>
      reconcile(api, endpoint, inbox, { state, since: new Date(task.since), leaseMs: 300, ...pass }),
  });
  console.log(JSON.stringify(reconciled));
  await Promise.all([inbox.close(), state.close()]);
} else {
  await ensureEndpoint(api, { url, eventTypes, keyStore });
}
