import type { DedupeStore, EsimEvents, Inbox, InboxLease, Settlement } from "@esim-webhooks/core";
import { expect } from "vitest";
import { entry, fixedTime, key } from "../../test/inbox-entry.ts";
import type { Name } from "../model/state-machine.ts";
import type { CheckedHistory } from "../model/trace.ts";

const ids = ["a", "b", "c", "d", "e", "f"];
/** All ids that are used, except those that are only handled inline. */
export const allIds: readonly string[] = [...ids, ...ids.map((id) => `${id}2`)];
const typeOf = (id: string): keyof EsimEvents => (id < "d" ? "esim.enabled" : "esim.disabled");
export const laneOf = (event: { data: unknown }): string =>
  (event.data as { esimReference: string }).esimReference;
export const hourMs = 3_600_000;

/** An engine that is used at random. */
export interface Used {
  readonly inbox: Inbox;
  /** The dedupe store on the same rows, if there is one. */
  readonly store?: DedupeStore;
  /** Has all leases end that were taken for 1 ms. */
  endShortLeases(): Promise<void>;
  /** Has all retentions end. */
  endRetentions(): Promise<void>;
}

/** Numbers from 0 to 1, the same for the same seed. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Makes random calls, as two workers, an import and an operator would, some with leases that were lost long ago. */
async function useAtRandom(
  { inbox, store, endShortLeases, endRetentions }: Used,
  calls: number,
  seed: number,
): Promise<void> {
  const random = randomNumbers(seed);
  const one = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
  const esimOf = (id: string) => `esim ${id < "d" ? "abc" : "def"}`;
  const stored = (id: string) => entry(id, { ...fixedTime, type: typeOf(id), esim: esimOf(id) });
  const leases: InboxLease[] = [];
  const endings: readonly ((lease: InboxLease) => Settlement)[] = [
    (lease) => ({ ...lease, state: "done" }),
    (lease) => ({ ...lease, state: "unhandled" }),
    (lease) => ({ ...lease, state: "retry", afterMs: 0, error: "failed" }),
    (lease) => ({ ...lease, state: "retry", afterMs: hourMs, error: "failed" }),
    (lease) => ({ ...lease, state: "waiting", afterMs: 0, error: "retryLater" }),
    (lease) => ({ ...lease, state: "given_back", afterMs: 0, error: "runs" }),
    (lease) => ({ ...lease, state: "given_back" }),
    (lease) => ({ ...lease, state: "dead", error: "failed" }),
  ];
  const lease = () => {
    const { source = "default", id = "a", token = "0" } = one(leases.slice(-12)) ?? {};
    return { source, id, token };
  };
  const take = async (leaseMs: number) =>
    void leases.push(...(await inbox.take({ limit: 2, leaseMs, suspects: random() < 0.4 })));
  const rerun = (id: string) => ({
    ...stored(id),
    replay: { run: one(["first", "second"]), rebuilt: false },
  });
  const uses: readonly (() => Promise<unknown>)[] = [
    () => inbox.put([stored(one(ids))]),
    () => inbox.put(ids.map(stored)),
    () => take(hourMs),
    () => take(hourMs),
    () => take(1),
    async () => {
      await endShortLeases();
      await take(hourMs);
    },
    ...Array.from({ length: 6 }, () => () => inbox.settle([one(endings)(lease())])),
    () => inbox.extend([lease()], hourMs),
    () => inbox.redrive({ state: one(["dead", "unhandled", "ready"] as const) }),
    () => (random() < 0.3 ? inbox.giveUp({ ids: [one(ids)] }, { reason: "test" }) : Promise.resolve()),
    () => inbox.rerun([rerun(one(ids))]),
    () => inbox.pause({ types: ["esim.enabled"], reason: "test" }),
    () => inbox.resume(),
    () => inbox.purge(),
    () => (random() < 0.2 ? endRetentions() : Promise.resolve()),
    () => (random() < 0.2 ? inbox.purgeDead({}) : Promise.resolve()),
    () => (random() < 0.1 ? inbox.erase(esimOf(one(ids))) : Promise.resolve()),
  ];
  const claims: { readonly id: string; readonly token: string }[] = [];
  const withClaim = (work: (store: DedupeStore, id: string, token: string) => unknown) => async () => {
    const { id, token } = one(claims.slice(-6)) ?? { id: "g", token: "0" };
    if (store !== undefined) await work(store, id, token);
  };
  const inline: readonly (() => Promise<unknown>)[] = [
    async () => {
      const id = random() < 0.5 ? one(ids) : `inline${call}`;
      const claim = await store?.claim(key(id), random() < 0.5 ? 1 : hourMs);
      if (claim?.status === "claimed") claims.push({ id, token: claim.token });
    },
    withClaim((store, id, token) => store.extend(key(id), token, hourMs)),
    withClaim((store, id, token) => store.complete(key(id), token)),
    withClaim((store, id, token) => store.release(key(id), token)),
    withClaim((_, id) => inbox.put([stored(id)])),
    withClaim((store, id) => store.claim(key(id), hourMs)),
  ];
  const all = store === undefined ? uses : [...uses, ...inline, ...inline];
  let call = 0;
  for (; call < calls; call += 1) await one(all)();
  await inbox.put(ids.map((id) => stored(`${id}2`)));
  for (const id of ids) await inbox.erase(esimOf(id));
}

const usual = [
  "put",
  "take",
  "settle done",
  "settle unhandled",
  "settle retry",
  "settle dead",
  "redrive",
  "purge",
  "rerun",
  "erase",
] as const satisfies readonly Name[];

const leastSeeds = 4;
const mostSeeds = 20;

/**
 * Uses engines at random, each with another seed, until each of the usual transitions and of these has happened. Expects that the table
 * has all that happened.
 */
export async function expectInTable(
  open: () => Promise<Used & { changes(): Awaitable<CheckedHistory> }>,
  others: readonly Name[],
): Promise<void> {
  const missing = new Set<Name>([...usual, ...others]);
  for (let seed = 1; seed <= mostSeeds && (seed <= leastSeeds || missing.size > 0); seed += 1) {
    const used = await open();
    await useAtRandom(used, 800, seed);
    const { seen, unknown } = await used.changes();
    expect(unknown, `seed ${seed}`).toEqual([]);
    for (const name of seen.keys()) missing.delete(name);
  }
  expect([...missing]).toEqual([]);
}

type Awaitable<Value> = Value | Promise<Value>;
