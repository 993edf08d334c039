import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ApiClient, createClient, createLimiter } from "@esim-webhooks/client";
import { type KeyStore, memoryStore, nodeHandler } from "@esim-webhooks/core";
import { type FileKeySource, fileKeySource } from "@esim-webhooks/core/key-file";
import { stateKeySource } from "@esim-webhooks/core/key-state";
import { sampleData } from "@esim-webhooks/core/testing";
import { rotateSecret } from "@esim-webhooks/endpoint";
import { type Sandbox, type SandboxOptions, startSandbox } from "@esim-webhooks/sandbox";
import { listen } from "../../../../test/listen.ts";
import { fastClock, shortPauses } from "../fast-clock.ts";
import { memoryState } from "../reconcile/memory-state.ts";

/** A call of the sandbox's API, as its faults name it. */
export const rotateCall = "POST /management/webhooks/{webhookEndpointReference}/rotate-secret";

export interface RotateAnswer {
  readonly data: Record<string, unknown>;
}

/** To be disposed of: these tests run concurrently. */
export interface Rotating<Keys extends KeyStore = KeyStore> extends AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly api: ApiClient;
  /** The API, with answers to `rotateSecret` of another form. */
  answering(change: (answer: RotateAnswer) => unknown): ApiClient;
  readonly endpoint: string;
  readonly keys: Keys;
  /** The ids of the events that were handled, in the order in which they were. */
  readonly handled: string[];
  /** Replaces the receiver by one that has just started, and so reads the keys now. */
  restart(): void;
  /** The secret that the endpoint has at the service. */
  secret(): Promise<string>;
  /** Emits an event to the endpoint, and resolves to its id once it was answered. */
  emit(): Promise<string>;
  /** Rotates, without the check of receivers unless the options ask for it: a receiver answers it a second after its start. */
  rotate(
    options?: Parameters<typeof rotateSecret>[3],
    by?: Parameters<typeof rotateSecret>[0],
  ): ReturnType<typeof rotateSecret>;
}

/**
 * A sandbox on a manual clock, a receiver with keys in a state store, and an endpoint between them. The receiver restarts when the keys
 * change, since a running one reads new keys a second later.
 */
export async function rotating(
  options?: SandboxOptions,
  stored?: (secret: string) => string,
): Promise<Rotating> {
  const source = stateKeySource(memoryState());
  const keys: KeyStore = {
    ...source,
    async write(record, version) {
      const isWritten = await source.write(record, version);
      world?.restart();
      return isWritten;
    },
  };
  let world: Rotating | undefined;
  world = await rotatingWith(keys, new AsyncDisposableStack(), options, stored);
  return world;
}

/** The same with keys in this file, and a receiver that keeps running. Default: in a folder of its own. */
export async function rotatingFile(
  file?: string,
  ...options: [SandboxOptions?, ((secret: string) => string)?]
): Promise<Rotating<FileKeySource>> {
  const resources = new AsyncDisposableStack();
  if (file !== undefined) return rotatingWith(fileKeySource(file), resources, ...options);
  const folder = await mkdtemp(join(tmpdir(), "rotate-"));
  resources.defer(() => rm(folder, { recursive: true }));
  return rotatingWith(fileKeySource(join(folder, "keys")), resources);
}

/** The same with these keys, which are disposed of with `resources`. */
export async function rotatingWith<Keys extends KeyStore>(
  keys: Keys,
  resources: AsyncDisposableStack,
  options: SandboxOptions = {},
  stored: (secret: string) => string = (secret) => secret,
): Promise<Rotating<Keys>> {
  const switches = { answerLimitMs: 200_000, ...options.switches }; // on a busy machine, what is slow is not sent again
  const sandbox = resources.use(await startSandbox({ clock: "manual", ...options, switches }));
  const handled: string[] = [];
  const store = memoryStore();
  let receiver: ReturnType<typeof nodeHandler> | undefined;
  function restart(): void {
    receiver = nodeHandler({ "*": ({ id }) => void handled.push(id) }, { secret: keys, store });
    resources.defer(receiver.close);
  }
  const server = await listen(
    (...given) => receiver?.(...given),
    "/webhooks",
    async () => {},
  );
  resources.defer(() => server.close());
  const limiter = createLimiter({ calls: 1000 }); // a manual clock has no limit
  const settings = { baseUrl: sandbox.url, ...sandbox.credentials, limiter, clock: shortPauses };
  const api = createClient(settings);
  const made = await api.webhooks.create({ url: server.url, eventTypes: ["esim.enabled"] });
  const endpoint = made.webhookEndpointReference;
  await keys.write({ keys: [stored(made.signingSecret)] }, undefined);
  restart();
  return {
    sandbox,
    api,
    endpoint,
    keys,
    handled,
    restart,
    answering: (change) =>
      createClient({
        ...settings,
        async fetch(url, init) {
          const answer = await fetch(url, init);
          if (!url.endsWith("/rotate-secret")) return answer;
          return Response.json(change((await answer.json()) as RotateAnswer), answer);
        },
      }),
    async secret() {
      const answer = await fetch(`${sandbox.controlUrl}/endpoints`);
      const { data } = (await answer.json()) as {
        readonly data: readonly { readonly signingSecret: string }[];
      };
      return data[0]?.signingSecret ?? "";
    },
    async emit() {
      const [id = ""] = await sandbox.emit({ type: "esim.enabled", data: sampleData("esim.enabled") });
      await sandbox.settled();
      return id;
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
    rotate: (given, by = api) =>
      rotateSecret(by, endpoint, keys, { clock: fastClock(), checkReceivers: false, ...given }),
  };
}
