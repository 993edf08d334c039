import type { ApiClient } from "@esim-webhooks/client";
import type { KeyStore } from "@esim-webhooks/core";

/** The API and the key store of a process that ends at the n-th moment: before or after a call that changes something, or a write. */
export function killedAt(
  fatal: number,
  api: ApiClient,
  keyStore: KeyStore,
  kill: () => Promise<void> = () => Promise.reject(new Error("killed")),
): { api: ApiClient; keyStore: KeyStore } {
  let moment = 0;
  const moments = <Given extends readonly unknown[], Result>(work: (...given: Given) => Promise<Result>) => {
    return async (...given: Given): Promise<Result> => {
      if (moment++ >= fatal) await kill();
      const result = await work(...given);
      if (moment++ >= fatal) await kill();
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
  return { api: { ...api, webhooks }, keyStore: { ...keyStore, write: moments(keyStore.write) } };
}
