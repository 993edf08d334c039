import { randomUUID } from "node:crypto";
import { crc32 } from "node:zlib";
import { type Claim, type DedupeStore, type EventKey, WebhookError } from "@esim-webhooks/core";
import {
  createStoreGuard,
  durationMs,
  keyText,
  type OptionsShape,
  parseOptions,
  type StoreOptions,
  spreadRetention,
  storeShape,
  warnOfShortRetention,
  withMethods,
} from "@esim-webhooks/core/engine";
import * as z from "zod/mini";
import type { Operation } from "./dedupe-object.ts";

export interface DurableObjectStoreOptions extends StoreOptions {
  /** The timeout of an operation, in ms. Default 5,000. */
  timeoutMs?: number;
}

/** The part of a Durable Object binding that `durableObjectStore` uses. */
export interface DurableObjectNamespace {
  /** The object of this name, which is created when it is first called. */
  getByName(name: string): {
    fetch(
      url: string,
      request: { method: string; body: string; signal: AbortSignal },
    ): Promise<{
      readonly ok: boolean;
      readonly status: number;
      json(): Promise<unknown>;
    }>;
  };
}

const shape: OptionsShape<Required<DurableObjectStoreOptions>> = {
  ...storeShape,
  timeoutMs: z._default(durationMs(1), 5000),
};

const namespaceMethods = withMethods<DurableObjectNamespace>("getByName");

/** How many objects share the ids. It can never change: an id would be looked for in another object than the one that has it. */
const objects = 16;

/**
 * The dedupe store on Durable Objects of the class `DedupeObject`, with SQLite storage: `durableObjectStore(env.DEDUPE)`. One request
 * per operation, to the one of 16 objects that has the id. Leases and retention use the object's clock. What it has answered is durable.
 *
 * Throws `invalid_option`. Operations reject with `store_unavailable`.
 */
export function durableObjectStore(
  namespace: DurableObjectNamespace,
  options: DurableObjectStoreOptions = {},
): DedupeStore {
  if (!namespaceMethods.safeParse(namespace).success) throw notABinding();
  const settings = parseOptions("durableObjectStore", shape, options);
  const { retentionMs, timeoutMs, logger } = settings;
  warnOfShortRetention("durableObjectStore", settings);
  const guard = createStoreGuard({
    name: "durableObjectStore",
    timeoutMs,
    logger,
    check: async () => {}, // a check that asks an object would belong to the request that began it, and end with that request
    explain: unavailable,
  });

  function ask<Answer>(key: EventKey, operation: OperationWithoutKey): Promise<Answer> {
    const text = keyText(key);
    return guard.run(async (signal) => {
      const object = namespace.getByName(`esim-webhooks-${crc32(text) % objects}`);
      const body = JSON.stringify({ ...operation, key: text });
      const response = await object.fetch("https://dedupe-object/", { method: "POST", body, signal });
      if (!response.ok) throw new Error(`The object answered with status ${response.status}.`);
      return (await response.json()) as Answer;
    });
  }

  return {
    capabilities: { durable: true, multiProcess: true, transactional: false, retentionMs },
    claim: (key, leaseMs, fingerprint) =>
      ask<Claim>(key, { name: "claim", token: randomUUID(), leaseMs, fingerprint }),
    extend: (key, token, leaseMs) => ask<boolean>(key, { name: "extend", token, leaseMs }),
    complete: (key, token) =>
      ask<boolean>(key, { name: "complete", token, keptMs: spreadRetention(retentionMs) }),
    release: (key, token) => ask<boolean>(key, { name: "release", token }),
    close: () => guard.close(async () => {}),
  };
}

type Without<Key extends string, Union> = Union extends unknown ? Omit<Union, Key> : never;
type OperationWithoutKey = Without<"key", Operation>;

function notABinding(): WebhookError {
  return new WebhookError(
    "invalid_option",
    "the first argument is not a binding to Durable Objects.",
    'Pass env.DEDUPE, and add { "name": "DEDUPE", "class_name": "DedupeObject" } to durable_objects.bindings in wrangler.jsonc.',
    { where: "durableObjectStore" },
  );
}

function unavailable(cause: unknown): WebhookError {
  return new WebhookError(
    "store_unavailable",
    "A Durable Object of durableObjectStore was unreachable, or failed.",
    "See the error's cause. If it names SQL, add DedupeObject to new_sqlite_classes in wrangler.jsonc.",
    { cause },
  );
}
