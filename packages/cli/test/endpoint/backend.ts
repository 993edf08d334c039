import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import {
  type EsimEvents,
  type Handlers,
  type Inbox,
  type InboxState,
  nodeHandler,
  type Secret,
} from "@esim-webhooks/core";
import { fileKeySource } from "@esim-webhooks/core/key-file";
import { sampleData } from "@esim-webhooks/core/testing";
import type { SandboxOptions } from "@esim-webhooks/sandbox";
import { postgresInbox } from "@esim-webhooks/store-postgres";
import { sqliteInbox, sqliteStore } from "@esim-webhooks/store-sqlite";
import { onTestFinished } from "vitest";
import { listen } from "../../../../test/listen.ts";
import { type Service, startService } from "../api/service.ts";
import { folder } from "../cli.ts";

/** A partner's backend at the sandbox: one endpoint, and a receiver that is up or down. Commands run in its folder. */
export interface Backend extends Service {
  readonly cwd: string;
  readonly reference: string;
  /** Starts the receiver, with the inbox or the handlers that commands use. `secret`: default, the endpoint's. */
  up(secret?: Secret): Promise<void>;
  /** From now on connections are cut. */
  down(): Promise<void>;
  /** Has the service send events. Resolves to their ids, once each was answered or cut. */
  emit(count: number): Promise<string[]>;
  /** The same, acknowledged by a receiver that forgets them. */
  emitAcknowledged(count: number): Promise<string[]>;
  /** The ids in the default inbox: all, or those in this state. */
  stored(state?: InboxState): Promise<string[]>;
  /** The ids that the handlers of the config have handled, in order. */
  handled(): string[];
  /** Makes the handlers throw, or not. */
  failing(fails: boolean): void;
  /** Makes the handlers hang, or not. */
  hanging(hangs: boolean): void;
  /** Gives the workers that start from now on a time limit, of 60 ms. */
  limit(): void;
}

export interface BackendOptions extends SandboxOptions {
  /** The Postgres in which its inbox is. Default: an SQLite file in the data folder. */
  readonly database?: string;
  /** A config with handlers: they run inline, or on the events of an inbox. Default: the default inbox. */
  readonly handlers?: "inline" | "worker";
  /** The secret is in a key file, which a config names. Not together with handlers. */
  readonly keyFile?: boolean;
}

const eventTypes = ["esim.installed"];

const configs = {
  inline: "{ handlers }",
  worker: `{
    handlers,
    target: sqliteInbox({ path }),
    state: sqliteState({ path }),
    worker: {
      ...{ maxAttempts: 1, pollMs: 50, shutdownMs: 200 },
      ...(existsSync(beside("limited")) && { timeoutMs: 60, graceMs: 60 }),
    },
  }`,
};

const config = (kind: keyof typeof configs) => `
  import { appendFileSync, existsSync } from "node:fs";
  import { fileURLToPath } from "node:url";
  import { sqliteInbox, sqliteState } from "@esim-webhooks/store-sqlite";
  const beside = (name) => new URL(name, import.meta.url);
  const path = fileURLToPath(beside(".esim-webhooks/events.db"));
  export const handlers = {
    "*": ({ id }) => {
      if (existsSync(beside("failing"))) throw new Error("the handler is broken");
      if (existsSync(beside("hanging"))) return new Promise(() => {});
      appendFileSync(beside("handled.txt"), id + "\\n");
    },
  };
  export default ${configs[kind]};`;

const keyFileConfig = `
  import { relative } from "node:path";
  import { fileURLToPath } from "node:url";
  import { fileKeySource } from "@esim-webhooks/core/key-file";
  const path = relative("", fileURLToPath(new URL("esim.key", import.meta.url)));
  export default { secret: fileKeySource(path) };`;

/** Starts a backend for one test, on a manual clock, with its receiver up. */
export async function startBackend({
  database,
  handlers,
  keyFile = false,
  ...options
}: BackendOptions = {}): Promise<Backend> {
  const service = await startService({ clock: "manual", ...options });
  const { api, sandbox } = service;
  const file = keyFile ? keyFileConfig : handlers && config(handlers);
  const cwd = folder(file === undefined ? {} : { "esim-webhooks.config.mjs": file });
  const path = join(cwd, ".esim-webhooks/events.db");
  let receiver: { readonly listener: RequestListener; stop(): Promise<void> } | undefined;
  const { url, close } = await listen(
    (request, response) => (receiver ? receiver.listener(request, response) : request.socket.destroy()),
    "/webhooks",
    async () => {},
  );
  const { webhookEndpointReference: reference, signingSecret } = await api.webhooks.create({
    url,
    eventTypes,
  });

  const keys = join(cwd, "esim.key");
  if (keyFile) writeFileSync(keys, signingSecret, { mode: 0o600 });
  const ownSecret = keyFile ? fileKeySource(keys) : signingSecret;

  function openInbox(): Inbox {
    return database === undefined ? sqliteInbox({ path }) : postgresInbox({ url: database });
  }

  async function startReceiver(secret: Secret) {
    mkdirSync(join(cwd, ".esim-webhooks"), { recursive: true, mode: 0o700 });
    if (handlers === "inline") {
      const loaded = await import(pathToFileURL(join(cwd, "esim-webhooks.config.mjs")).href);
      const store = sqliteStore({ path });
      await store.ready();
      const listener = nodeHandler(loaded.handlers as Handlers<EsimEvents>, { store, secret });
      return { listener, stop: () => listener.close().then(store.close) };
    }
    const inbox = openInbox();
    await inbox.migrate?.();
    await inbox.ready();
    const listener = nodeHandler(inbox, { secret });
    return { listener, stop: () => listener.close().then(inbox.close) };
  }

  async function emit(count: number): Promise<string[]> {
    const event = { type: "esim.installed", data: { ...sampleData("esim.installed") } };
    const ids: string[] = [];
    for (let made = 0; made < count; made += 1) ids.push(...(await sandbox.emit(event)));
    await sandbox.settled();
    return ids;
  }

  /** Puts a file beside the config, or removes it: its handlers look for it. */
  function mark(name: string, isThere: boolean): void {
    if (isThere) writeFileSync(join(cwd, name), "");
    else rmSync(join(cwd, name), { force: true });
  }

  const backend: Backend = {
    ...service,
    env: database === undefined ? service.env : { ...service.env, DATABASE_URL: database },
    cwd,
    reference,
    async up(secret = ownSecret) {
      receiver ??= await startReceiver(secret);
    },
    async down() {
      const running = receiver;
      receiver = undefined;
      await running?.stop();
    },
    emit,
    async emitAcknowledged(count) {
      const running = receiver;
      receiver = {
        listener: (_request, response) => void response.writeHead(202).end(),
        stop: async () => {},
      };
      const ids = await emit(count);
      receiver = running;
      return ids;
    },
    async stored(state) {
      const inbox = openInbox();
      const { rows } = await inbox.list(state && { state }, { limit: 1000 });
      await inbox.close();
      return rows.map(({ id }) => id);
    },
    handled() {
      const file = join(cwd, "handled.txt");
      return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
    },
    failing: (fails) => mark("failing", fails),
    hanging: (hangs) => mark("hanging", hangs),
    limit: () => mark("limited", true),
  };
  onTestFinished(async () => {
    await backend.down();
    await close();
  });
  await backend.up();
  return backend;
}
