import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ApiClient, createClient } from "@esim-webhooks/client";
import { type Inbox, nodeHandler, type StateStore } from "@esim-webhooks/core";
import { sampleData } from "@esim-webhooks/core/testing";
import {
  type ReconcileOptions,
  type ReconcileReport,
  type ReconcileTarget,
  reconcile,
} from "@esim-webhooks/endpoint";
import { type Sandbox, startSandbox } from "@esim-webhooks/sandbox";
import { sqliteInbox, sqliteState } from "@esim-webhooks/store-sqlite";
import { onTestFinished } from "vitest";
import { loggerWith } from "../../../../test/support/loggers.ts";

/**
 * What a receiver does: stores what it gets; answers 503, so that it comes again; answers 400, so that it does not; or says
 * that it has stored what it throws away.
 */
export type Manner = "stores" | "down" | "refuses" | "forgets";

export interface World {
  readonly sandbox: Sandbox;
  readonly api: ApiClient;
  readonly endpoint: string;
  /** The file that holds the inbox and the state. */
  readonly path: string;
  readonly inbox: Inbox;
  readonly state: StateStore;
  /** Log lines of level error and warn, in order. */
  readonly lines: {
    readonly level: string;
    readonly message: string;
    readonly fields: Record<string, unknown>;
  }[];
  /** Emits so many events while the receiver behaves in this manner, and waits for their first attempts. Resolves to their ids. */
  emit(count: number, manner: Manner): Promise<string[]>;
  /** Lets the service's time pass. */
  pass(time: string): Promise<void>;
  /** A pass into the inbox, unless there is another target. The first one goes back to the beginning of the world. */
  reconcile(
    options?: Partial<ReconcileOptions> & { readonly target?: ReconcileTarget },
  ): Promise<ReconcileReport>;
  /** Another inbox, in which nothing is. */
  emptyInbox(): Inbox;
  /** The ids in the inbox, sorted. */
  stored(): Promise<string[]>;
}

/**
 * A service with an endpoint of ours, whose receiver stores into an inbox: on disk, as the state, unless there are others.
 * Since then events are ours.
 */
export async function startWorld(others: Partial<Pick<World, "inbox" | "state">> = {}): Promise<World> {
  const sandbox = await startSandbox({ clock: "manual", switches: { answerLimitMs: 200_000 } });
  const folder = mkdtempSync(join(tmpdir(), "reconcile-"));
  const path = join(folder, "events.db");
  const file = { path, timeoutMs: 60_000 }; // a busy machine is no fault of the store
  const { inbox = sqliteInbox(file), state = sqliteState(file) } = others;
  await Promise.all([inbox.ready?.(), state.ready()]);
  const api = createClient({ baseUrl: sandbox.url, ...sandbox.credentials });
  const receiver = await startReceiver(inbox);
  const closers = [() => sandbox.close(), () => receiver.close(), () => state.close(), () => inbox.close()];
  onTestFinished(async () => {
    for (const close of closers) await close();
    rmSync(folder, { recursive: true, force: true });
  });
  const { signingSecret, webhookEndpointReference: endpoint } = await api.webhooks.create({
    url: receiver.url,
    eventTypes: ["esim.enabled"],
  });
  receiver.useSecret(signingSecret);
  let isFirst = true;
  const since = new Date(Date.now() - 60_000);
  const lines: World["lines"] = [];
  const logger = loggerWith({
    warn: (fields, message) => lines.push({ level: "warn", message, fields }),
    error: (fields, message) => lines.push({ level: "error", message, fields }),
  });
  return {
    sandbox,
    api,
    endpoint,
    path,
    inbox,
    state,
    lines,
    async emit(count, manner) {
      receiver.behave(manner);
      const ids: string[] = [];
      for (let made = 0; made < count; made++) {
        ids.push(...(await sandbox.emit({ type: "esim.enabled", data: sampleData("esim.enabled") })));
      }
      await sandbox.settled();
      return ids;
    },
    async pass(time) {
      await sandbox.advance(time as "8h");
    },
    async reconcile({ target = inbox, ...options } = {}) {
      const report = await reconcile(api, endpoint, target, {
        state,
        ...(isFirst && { since }),
        logger,
        ...options,
      });
      isFirst = report.dryRun && isFirst;
      return report;
    },
    emptyInbox() {
      const empty = sqliteInbox({ path: join(folder, "empty.db") });
      closers.push(() => empty.close());
      return empty;
    },
    async stored() {
      const ids: string[] = [];
      for (let cursor: string | undefined; ; ) {
        const page = await inbox.list({}, { limit: 1000, ...(cursor !== undefined && { cursor }) });
        ids.push(...page.rows.map(({ id }) => id));
        if (page.nextCursor === null) return ids.sort();
        cursor = page.nextCursor;
      }
    },
  };
}

async function startReceiver(inbox: Inbox) {
  let manner: Manner = "stores";
  let receive: ReturnType<typeof nodeHandler> | undefined;
  const server = createServer((request, response) => {
    if (manner === "stores") return void receive?.(request, response);
    request.resume().once("end", () => {
      response.statusCode = { down: 503, refuses: 400, forgets: 202 }[manner as Exclude<Manner, "stores">];
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/webhooks`,
    useSecret(secret: string) {
      receive = nodeHandler(inbox, { secret });
    },
    behave(now: Manner) {
      manner = now;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
