import { type KeyRecord, type KeyStore, WebhookError } from "@esim-webhooks/core";
import { environmentOf } from "../base/environment-of.ts";
import type { EndpointErrorCode } from "../base/errors.ts";

/**
 * The key store for endpoints of the environment that the client calls: `read` rejects with `other_environment` if it has keys of the other
 * one, and `write` marks records of the test environment. The functions that change keys of endpoints call this themselves.
 * @param api a client, or an object with its `environment`
 * @param keyStore the store of the keys
 */
export function keysInEnvironment(api: object, keyStore: KeyStore): KeyStore {
  const isTest = environmentOf(api) === "test";
  return {
    load: () => keyStore.load(),
    async read() {
      const stored = await keyStore.read();
      if (
        stored !== undefined &&
        !isEmpty(stored.record) &&
        (stored.record.environment === "test") !== isTest
      )
        throw ofOther(isTest);
      return stored;
    },
    write: (record, version) => keyStore.write(isTest ? { ...record, environment: "test" } : record, version),
  };
}

function isEmpty({ keys, change }: KeyRecord): boolean {
  return keys.length === 0 && change === undefined;
}

function ofOther(isTest: boolean): WebhookError<EndpointErrorCode> {
  const [ours, other] = isTest ? ["test", "production"] : ["production", "test"];
  return new WebhookError<EndpointErrorCode>(
    "other_environment",
    `The key store has keys of the ${other} environment, and the client calls the ${ours} environment.`,
    "Give each environment a key store of its own, or correct ESIM_ENVIRONMENT.",
  );
}
