import type { Logger } from "../base/logger.ts";
import { warnOfSetup } from "../base/safe-logger.ts";

/** A receiver, or one of its endpoints, that accepts the events of a source into a store. */
interface Registration {
  readonly source: string;
  /** The fingerprints of its keys. */
  readonly keys: readonly string[];
}

/** The registrations of one store or inbox. */
interface Registry {
  readonly bySource: Index;
  readonly byKey: Index;
}

type Index = Map<string, Set<Registration>>;

const registries = new WeakMap<object, Registry>();

/**
 * Registers a receiver or an endpoint that accepts events of `source` into `store`. Warns if other registrations of this store in this process
 * have the same source and none of these keys: they are other endpoints, and an id of one would be taken for a duplicate of the other's. Also
 * warns if a registration with another source has one of these keys: each accepts a captured delivery of the other, as another event. Returns a
 * function that removes the registration.
 */
export function registerSource(
  store: object,
  source: string,
  keys: readonly string[],
  logger: Logger,
): () => void {
  const registry = registries.get(store) ?? { bySource: new Map(), byKey: new Map() };
  registries.set(store, registry);
  const { bySource, byKey } = registry;
  const known = [...(bySource.get(source) ?? [])].flatMap((other) => other.keys);
  if (known.length > 0 && keys.length > 0 && !keys.some((key) => known.includes(key))) {
    warnOfSetup(
      logger,
      "shared_source",
      `Two receivers have different keys, and share a store and the source "${source}": an event of one endpoint counts as a ` +
        'duplicate of the other\'s with the same id, and does not run. Give each a source of its own, such as { source: "eu" }.',
    );
  }
  const other = keys.flatMap((key) => [...(byKey.get(key) ?? [])]).find((one) => one.source !== source);
  if (other !== undefined) {
    warnOfSetup(
      logger,
      "shared_secret",
      `The sources "${other.source}" and "${source}" have the same signing secret, by its fingerprint: a delivery of one that was captured is accepted at ` +
        "the other, and its event runs again. Give each endpoint a secret of its own, or give both the same source.",
    );
  }
  const registration: Registration = { source, keys };
  add(bySource, source, registration);
  for (const key of keys) add(byKey, key, registration);
  return () => {
    remove(bySource, source, registration);
    for (const key of keys) remove(byKey, key, registration);
  };
}

function add(index: Index, name: string, registration: Registration): void {
  const registered = index.get(name);
  if (registered === undefined) index.set(name, new Set([registration]));
  else registered.add(registration);
}

function remove(index: Index, name: string, registration: Registration): void {
  const registered = index.get(name);
  registered?.delete(registration);
  if (registered?.size === 0) index.delete(name);
}
