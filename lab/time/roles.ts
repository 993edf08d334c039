import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "@esim-webhooks/client";
import { createWorker, nodeHandler } from "@esim-webhooks/core";
import { fileKeySource } from "@esim-webhooks/core/key-file";
import { sampleData } from "@esim-webhooks/core/testing";
import { createReconciler, rotateSecret } from "@esim-webhooks/endpoint";
import { startSandbox } from "@esim-webhooks/sandbox";
import { type Figures, openInbox, openState, type Place, quiet } from "./place.ts";
import { sendAtRate } from "./sending.ts";

/** The settings of all processes. Later ones get what earlier ones have added. */
export interface Settings {
  readonly place: Place;
  readonly keyFile: string;
  readonly port: number;
  readonly perSecond: number;
  readonly retentionMs: number;
  /** Whether the receiver keeps each body, as a leak that must be noticed. */
  readonly keepsBodies: boolean;
  readonly baseUrl: string;
  readonly controlUrl: string;
  readonly credentials: { readonly clientId: string; readonly clientSecret: string };
}

/** A started process. */
export interface Started {
  /** Settings for the processes that are started after it. */
  readonly settings?: Partial<Settings>;
  /** Its own figures since the last call, besides those that each process has. */
  readonly figures?: () => Figures;
  /** How often something has happened, for the end of the run. */
  readonly counts?: () => Readonly<Record<string, number>>;
}

const urlOf = ({ port }: Settings) => `http://127.0.0.1:${port}/webhooks`;
const eventType = "esim.enabled";

/** Plays the service, and sends an event a second; each tenth is signed wrongly, so that reconcile has something to recover. */
async function service(): Promise<Started> {
  const sandbox = await startSandbox();
  sandbox.faults.add({ kind: "wrong_signature", probability: 0.1 });
  setInterval(() => sandbox.emit({ type: eventType, data: sampleData(eventType) }), 1000);
  const { url: baseUrl, controlUrl, credentials } = sandbox;
  return { settings: { baseUrl, controlUrl, credentials } };
}

/** Registers the endpoint. Then rotates its secret again and again, while it reconciles. */
async function operator(settings: Settings): Promise<Started> {
  const { place, keyFile, baseUrl, credentials } = settings;
  const api = createClient({ baseUrl, ...credentials });
  const { webhookEndpointReference: endpoint, signingSecret: secret } = await api.webhooks.create({
    url: urlOf(settings),
    eventTypes: [eventType],
  });
  const keys = fileKeySource(keyFile);
  await keys.write({ keys: [{ secret, endpoint }] }, undefined);
  const counts = { rotations: 0, "failed rotations": 0, "events reconciled": 0 };
  const inbox = openInbox(place);
  const counted: typeof inbox = {
    ...inbox,
    async put(entries) {
      const results = await inbox.put(entries);
      counts["events reconciled"] += results.filter((result) => result === "stored").length;
      return results;
    },
  };
  const state = openState(place);
  // its heap grows by a megabyte until some 600 passes have compiled its code: these must come before the series begin
  const reconciler = createReconciler(api, endpoint, counted, { state, since: new Date(), everyMs: 500 });
  void reconciler.run();
  async function rotate(): Promise<never> {
    for (;;) {
      await sleep(15_000);
      await rotateSecret(api, endpoint, keys, { overlapMs: 60_000 }).then(
        () => counts.rotations++,
        () => counts["failed rotations"]++, // the next call continues it
      );
    }
  }
  void rotate();
  return { counts: () => counts };
}

async function receiver({ place, keyFile, port, keepsBodies }: Settings): Promise<Started> {
  const inbox = openInbox(place);
  const kept: Uint8Array[] = [];
  const keeping: typeof inbox = {
    ...inbox,
    put(entries) {
      kept.push(...entries.map(({ body }) => Buffer.from(body)));
      return inbox.put(entries);
    },
  };
  const handler = nodeHandler(keepsBodies ? keeping : inbox, {
    secret: fileKeySource(keyFile),
    logger: quiet,
  });
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {};
}

/** Handles events. One of fifty fails at its first attempt. Purges, as each worker does. */
async function worker({ place, retentionMs }: Settings): Promise<Started> {
  const counts = { handled: 0 };
  const handlers = {
    "*": (_: unknown, { attempt }: { readonly attempt: number }) => {
      if (attempt === 1 && Math.random() < 0.02) throw new Error("fails on purpose");
      counts.handled += 1;
    },
  };
  const worker = createWorker(openInbox(place, { retentionMs }), handlers, { logger: quiet });
  void worker.run({ signal: new AbortController().signal });
  return { counts: () => counts };
}

/** Sends deliveries at the rate, signed with the secret that the endpoint has at the service. */
async function sender(settings: Settings): Promise<Started> {
  const { controlUrl, perSecond } = settings;
  async function secretNow(): Promise<string> {
    const { data } = (await (await fetch(`${controlUrl}/endpoints`)).json()) as {
      readonly data: readonly { readonly signingSecret: string }[];
    };
    return data[0]?.signingSecret ?? "";
  }
  let secret = await secretNow();
  setInterval(() => secretNow().then((now) => (secret = now)), 1000);
  const sending = await sendAtRate(urlOf(settings), perSecond, () => secret);
  return { figures: () => ({ "p99 of the answer, ms": sending.p99() }), counts: () => sending.counts };
}

export const roles = { service, operator, receiver, worker, sender } as const;
export type Role = keyof typeof roles;
