import type { InboxEntry, InboxWriter, PutResult, StateStore, StoredState } from "@esim-webhooks/core";

/** A state store in memory that says it is durable: the tests that use it do not end its process. */
export function memoryState(): StateStore & {
  /** The value of its only state. */
  only(): Promise<unknown>;
  /** Its first state, to be written again. */
  first(): Promise<StoredState & { readonly name: string }>;
} {
  const states = new Map<string, StoredState>();
  let writes = 0;
  return {
    capabilities: { durable: true, multiProcess: false },
    async ready() {},
    read: async (name) => structuredClone(states.get(name)),
    async write(name, value, version) {
      if (states.get(name)?.version !== version) return false;
      states.set(name, { value: structuredClone(value), version: String(++writes) });
      return true;
    },
    async close() {},
    async first() {
      const [name, stored] = [...states][0] as [string, StoredState];
      return { name, ...structuredClone(stored) };
    },
    only: async () => structuredClone([...states.values()].at(0)?.value),
  };
}

export interface KnownInbox extends Pick<InboxWriter, "put" | "capabilities"> {
  /** The ids it has. */
  readonly ids: Set<string>;
}

/** An inbox that remembers ids alone, and says it is durable. */
export function knownInbox(): KnownInbox {
  const ids = new Set<string>();
  return {
    ids,
    capabilities: { durable: true } as InboxWriter["capabilities"],
    put: async (entries: readonly InboxEntry[]) =>
      entries.map(({ id }): PutResult => {
        if (ids.has(id)) return "already_stored";
        ids.add(id);
        return "stored";
      }),
  };
}
