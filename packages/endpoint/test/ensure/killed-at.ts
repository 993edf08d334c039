import type { ApiClient } from "@esim-webhooks/client";
import type { KeyStore } from "@esim-webhooks/core";

/** A process that ends at one moment, as its API and key store show it: from then on they do nothing and never answer. */
export interface Killed {
  readonly api: ApiClient;
  readonly keyStore: KeyStore;
  /** Resolves when the process ends. */
  readonly killed: Promise<"killed">;
}

/** A process that ends at the n-th moment: before or after a call that changes something, or a write. */
export function killedAt(fatal: number, api: ApiClient, keyStore: KeyStore): Killed {
  const { promise: killed, resolve: kill } = Promise.withResolvers<"killed">();
  let moment = 0;
  const pass = async () => {
    if (moment++ < fatal) return;
    kill("killed");
    await new Promise(() => {});
  };
  const moments = <Given extends readonly unknown[], Result>(work: (...given: Given) => Promise<Result>) => {
    return async (...given: Given): Promise<Result> => {
      await pass();
      const result = await work(...given);
      await pass();
      return result;
    };
  };
  const { create, rotateSecret, delete: remove } = api.webhooks;
  const webhooks = {
    ...api.webhooks,
    create: moments(create),
    rotateSecret: moments(rotateSecret),
    delete: moments(remove),
  };
  return { api: { ...api, webhooks }, keyStore: { ...keyStore, write: moments(keyStore.write) }, killed };
}
