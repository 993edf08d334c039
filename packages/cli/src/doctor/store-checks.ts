import type { Lifecycle } from "@esim-webhooks/core";
import { findTarget, isThere, type OpenTarget } from "../set-up/open-target.ts";
import type { SetUp } from "../set-up/set-up.ts";
import { type Check, check, failed, passed } from "./check.ts";

/** As much of a store or an inbox as doctor looks at. */
type Opened = Partial<Lifecycle> & { readonly capabilities?: { readonly durable: boolean } };

/** With more skew than this, leases or timestamps go wrong. */
const mostSkewMs = 5000;

/** Checks the store or the inbox, without changing anything in it. */
export async function checkStores(setUp: SetUp): Promise<readonly Check[]> {
  const { place, config } = setUp;
  const isDefault =
    config.target === undefined && (setUp.handlers === undefined || config.store === undefined);
  let found: OpenTarget;
  try {
    if (isDefault && "dataDir" in place && !isThere(place))
      return [passed("store", `an embedded inbox; its first use will create it in ${place.dataDir}`)];
    found = await findTarget(setUp);
  } catch (error) {
    return [await check("store", () => Promise.reject(error))];
  }
  const opened: Opened = "inbox" in found ? found.inbox : found.store;
  try {
    const store = await check("store", () => checkReady(opened, found.where));
    const isReachable = store.ok || store.code === "migration_missing";
    return [store, ...(isReachable && opened.now ? [await check("clock", () => checkClock(opened))] : [])];
  } finally {
    await found.close().catch(() => {}); // the checks have reported what is wrong
  }
}

/** Whether it is reachable, migrated and configured correctly: a Redis that may evict keys fails. */
async function checkReady(opened: Opened, where: string): Promise<Check> {
  if (opened.ready === undefined) return passed("store", `${where}; not checked, since it has no ready()`);
  await opened.ready();
  return passed("store", `${where}${durabilityOf(opened)}`);
}

function durabilityOf({ capabilities }: Opened): string {
  if (capabilities === undefined) return "";
  return capabilities.durable ? "; durable" : "; not durable: it may lose events that it has acknowledged";
}

async function checkClock(opened: Partial<Lifecycle>): Promise<Check> {
  const before = Date.now();
  const there = await opened.now?.();
  const here = (before + Date.now()) / 2;
  const skewMs = Math.round(Math.abs((there?.getTime() ?? here) - here));
  return skewMs <= mostSkewMs
    ? passed("clock", `${skewMs} ms from the database's clock`)
    : failed(
        "clock",
        `${(skewMs / 1000).toFixed(1)} s from the database's clock. Synchronise both clocks with NTP.`,
      );
}
