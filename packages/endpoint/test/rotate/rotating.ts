import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ApiClient, createClient, createLimiter } from "@esim-webhooks/client";
import { memoryStore, nodeHandler } from "@esim-webhooks/core";
import { type FileKeySource, fileKeySource } from "@esim-webhooks/core/key-file";
import { sampleData } from "@esim-webhooks/core/testing";
import { rotateSecret } from "@esim-webhooks/endpoint";
import { type Sandbox, type SandboxOptions, startSandbox } from "@esim-webhooks/sandbox";
import { onTestFinished } from "vitest";
import { listen } from "../../../../test/listen.ts";
import { fastClock } from "../fast-clock.ts";

/** A call of the sandbox's API, as its faults name it. */
export const rotateCall = "POST /management/webhooks/{webhookEndpointReference}/rotate-secret";

export interface Rotating {
  readonly sandbox: Sandbox;
  readonly api: ApiClient;
  readonly endpoint: string;
  readonly keys: FileKeySource;
  /** The ids of the events that were handled, in the order in which they were. */
  readonly handled: string[];
  /** Emits an event to the endpoint, and resolves to its id once it was answered. */
  emit(): Promise<string>;
  /** The secret that the service has, in the key store's form. */
  rotate(options?: Parameters<typeof rotateSecret>[3]): ReturnType<typeof rotateSecret>;
}

/** A sandbox on a manual clock, a receiver with a key file, and an endpoint between them. */
export async function rotating(
  options: SandboxOptions = {},
  stored: (secret: string) => string = (secret) => secret,
): Promise<Rotating> {
  const sandbox = await startSandbox({ clock: "manual", ...options });
  onTestFinished(() => sandbox.close());
  const folder = await mkdtemp(join(tmpdir(), "rotate-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const keys = fileKeySource(join(folder, "keys"));
  const handled: string[] = [];
  const receiver = nodeHandler(
    { "*": ({ id }) => void handled.push(id) },
    { secret: keys, store: memoryStore() },
  );
  const server = await listen(receiver, "/webhooks", receiver.close);
  onTestFinished(() => server.close());
  const limiter = createLimiter({ calls: 1000 }); // a manual clock has no limit
  const api = createClient({ baseUrl: sandbox.url, ...sandbox.credentials, limiter });
  const made = await api.webhooks.create({ url: server.url, eventTypes: ["esim.enabled"] });
  const endpoint = made.webhookEndpointReference;
  await keys.write({ keys: [stored(made.signingSecret)] }, undefined);
  return {
    sandbox,
    api,
    endpoint,
    keys,
    handled,
    async emit() {
      const [id = ""] = await sandbox.emit({ type: "esim.enabled", data: sampleData("esim.enabled") });
      await sandbox.settled();
      return id;
    },
    rotate: (given) => rotateSecret(api, endpoint, keys, { clock: fastClock(), ...given }),
  };
}
