import { type Logger, warnOfSetup } from "../base/logger.ts";

/** Store or inbox → source → the fingerprints of the keys of each receiver that accepts its events into it. */
const keysBySource = new WeakMap<object, Map<string, Set<readonly string[]>>>();

/**
 * Registers a receiver that accepts events of `source` into `store`. Warns if another receiver of this process does so too
 * and has none of these keys: they are two endpoints, and an id of one would be taken for a duplicate of the other's.
 * Returns a function that removes the registration. `keys` is an array of this receiver alone.
 */
export function registerSource(
  store: object,
  source: string,
  keys: readonly string[],
  logger: Logger,
): () => void {
  const bySource = keysBySource.get(store) ?? new Map<string, Set<readonly string[]>>();
  const receivers = bySource.get(source) ?? new Set<readonly string[]>();
  keysBySource.set(store, bySource.set(source, receivers));
  const known = [...receivers].flat();
  if (known.length > 0 && keys.length > 0 && !keys.some((key) => known.includes(key))) {
    warnOfSetup(
      logger,
      "shared_source",
      `Two receivers have different keys, and share a store and the source "${source}": an event of one endpoint counts as a ` +
        'duplicate of the other\'s with the same id, and does not run. Give each a source of its own, such as { source: "eu" }.',
    );
  }
  receivers.add(keys);
  return () => {
    receivers.delete(keys);
    if (receivers.size === 0) bySource.delete(source);
  };
}
