import { WebhookError } from "../base/errors.ts";
import { keyRecordsIn } from "../verify/key-record.ts";
import type { KeyRecord, KeyStore } from "../verify/key-store.ts";
import { checkStateName, type StateStore } from "./state-store.ts";
import { durableStores } from "./store-options.ts";

/**
 * Keeps signing keys in a state store, for many receivers: on many machines with Postgres or Redis, on one with SQLite or a folder. Secrets
 * are stored as they are, so anyone who reads the store can sign as the sender does.
 *
 * Throws `invalid_input` for an invalid name. `load` rejects with `invalid_secret` while there are no keys, or if one is invalid. `write`
 * rejects with `invalid_option` if the store is not durable: the only copy of a secret must survive a crash.
 * @param store where the state is kept
 * @param options the name of the state
 */
export function stateKeySource(
  store: StateStore,
  options: {
    /** The name of the state. Each endpoint needs its own. Default `"signing-keys"`. */
    readonly name?: string;
  } = {},
): KeyStore {
  const { name = "signing-keys" } = options;
  checkStateName(name);
  const records = keyRecordsIn(`The signing keys in the state ${JSON.stringify(name)}`);

  async function read(): Promise<{ record: KeyRecord; version: string } | undefined> {
    const stored = await store.read(name);
    if (stored === undefined) return undefined;
    return { record: records.of(stored.value), version: stored.version };
  }

  return {
    async load() {
      const { record } = (await read()) ?? { record: { keys: [] } };
      return records.loaded(record);
    },
    read,
    async write(record, version) {
      records.of(record);
      if (!store.capabilities.durable) {
        throw new WebhookError(
          "invalid_option",
          "this state store may lose what was written, and the service shows a secret only once.",
          `Use a durable one: ${durableStores}.`,
          { where: "stateKeySource" },
        );
      }
      return store.write(name, record, version);
    },
  };
}
