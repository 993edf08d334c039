import type { Claim, DedupeStore, EventKey } from "@esim-webhooks/core";

export interface RerunOptions {
  /** The name of the import. An import that continues after a crash has the same one, so that it runs no done id twice. */
  readonly run: string;
  /** Called when a done event is about to run again. */
  readonly onRerun: (key: EventKey) => void;
}

type Claimed = Extract<Claim, { status: "claimed" }>;

const rerunToken = "rerun:";

/** Whether this is the source of the marks that an import with `force` leaves in a store. */
export function isRerunMark(source: string): boolean {
  return source.includes(" (run again: ");
}

/**
 * The same store for an import with `force`: each run can claim a done id once more, unless it was done with another body.
 * The store also remembers which ids a run has claimed, as done ids of a source of its own, so that a run which continues
 * after a crash knows them.
 */
export function rerunStore<Tx>(store: DedupeStore<Tx>, { run, onRerun }: RerunOptions): DedupeStore<Tx> {
  // no endpoint has such a name, so these ids collide with no others
  const rerunKey = ({ source, id }: EventKey): EventKey => ({
    source: `${source} (run again: ${run})`,
    id,
  });

  /** The key and the token that the store knows: of the id itself, or of its second run. */
  function claimOf(key: EventKey, token: string): readonly [EventKey, string] {
    return token.startsWith(rerunToken) ? [rerunKey(key), token.slice(rerunToken.length)] : [key, token];
  }

  /** Marks an id as run by this import. Resolves to undefined, or to a claim with status `busy` if the mark could not be set. */
  async function mark(key: EventKey, leaseMs: number): Promise<Claim | undefined> {
    const claim = await store.claim(key, leaseMs);
    if (claim.status !== "claimed") return claim.status === "busy" ? claim : undefined;
    return (await store.complete(key, claim.token)) ? undefined : { status: "busy", retryAfterMs: 0 };
  }

  /** Marks an id before its event runs. Marked later, the event would run again if the process were killed right after the first run. */
  async function markOrRelease(key: EventKey, claim: Claimed, leaseMs: number): Promise<Claim> {
    let obstacle: Claim | undefined;
    try {
      obstacle = await mark(rerunKey(key), leaseMs);
    } catch (error) {
      try {
        await store.release(key, claim.token);
      } catch {
        // the claim ends with its lease
      }
      throw error;
    }
    if (obstacle === undefined) return claim;
    await store.release(key, claim.token);
    return obstacle;
  }

  async function claimAgain(key: EventKey, leaseMs: number): Promise<Claim> {
    const claim = await store.claim(rerunKey(key), leaseMs);
    if (claim.status !== "claimed") return claim;
    onRerun(key);
    return { ...claim, token: rerunToken + claim.token };
  }

  const { transact } = store;
  return {
    capabilities: store.capabilities,
    ...(store.ready && { ready: store.ready.bind(store) }),
    async claim(key, leaseMs, fingerprint) {
      const claim = await store.claim(key, leaseMs, fingerprint);
      if (claim.status === "claimed") return markOrRelease(key, claim, leaseMs);
      return claim.status === "done" && !claim.conflict ? claimAgain(key, leaseMs) : claim;
    },
    extend: (key, token, leaseMs) => store.extend(...claimOf(key, token), leaseMs),
    complete: (key, token) => store.complete(...claimOf(key, token)),
    release: (key, token) => store.release(...claimOf(key, token)),
    ...(transact && { transact: (key, token, work) => transact.call(store, ...claimOf(key, token), work) }),
    close: () => store.close(),
  };
}
