import type { Claim, DedupeStore, EventKey } from "@esim-webhooks/core";

export interface RerunOptions {
  /** The name of the import. */
  readonly run: string;
  /** Called when a done event is about to run again. */
  readonly onRerun: (key: EventKey) => void;
}

type Claimed = Extract<Claim, { status: "claimed" }>;

const rerunToken = "rerun:";

/**
 * The same store for an import by force: a done id can be claimed once more by each run. That a run has had an id is
 * kept in the store too, as a done id of another source, so that a run which goes on after a crash knows it.
 */
export function rerunStore<Tx>(store: DedupeStore<Tx>, { run, onRerun }: RerunOptions): DedupeStore<Tx> {
  // no endpoint has such a name: its ids are neither those of the source nor those of another run
  const rerunKey = ({ source, id }: EventKey): EventKey => ({
    source: `${source} (run again: ${run})`,
    id,
  });

  /** Whose claim a token is: that of the id itself, or that of its second run. */
  function owned(key: EventKey, token: string): readonly [EventKey, string] {
    return token.startsWith(rerunToken) ? [rerunKey(key), token.slice(rerunToken.length)] : [key, token];
  }

  /** Marks an id as run by this import. Anything but undefined: that could not be done yet. */
  async function mark(key: EventKey, leaseMs: number): Promise<Claim | undefined> {
    const claim = await store.claim(key, leaseMs);
    if (claim.status !== "claimed") return claim.status === "busy" ? claim : undefined;
    return (await store.complete(key, claim.token)) ? undefined : { status: "busy", retryAfterMs: 0 };
  }

  /** Marked before it runs: if the process ended right after its first run, the import would run it again. */
  async function markedOrReleased(key: EventKey, claim: Claimed, leaseMs: number): Promise<Claim> {
    let obstacle: Claim | undefined;
    try {
      obstacle = await mark(rerunKey(key), leaseMs);
    } catch (error) {
      try {
        await store.release(key, claim.token);
      } catch {
        // it ends with its lease
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
      if (claim.status === "claimed") return markedOrReleased(key, claim, leaseMs);
      return claim.status === "done" ? claimAgain(key, leaseMs) : claim;
    },
    extend: (key, token, leaseMs) => store.extend(...owned(key, token), leaseMs),
    complete: (key, token) => store.complete(...owned(key, token)),
    release: (key, token) => store.release(...owned(key, token)),
    ...(transact && { transact: (key, token, work) => transact.call(store, ...owned(key, token), work) }),
    close: () => store.close(),
  };
}
