import { existsSync } from "node:fs";
import type { Lifecycle } from "@esim-webhooks/core";
import { findTarget, type OpenTarget } from "../set-up/open-target.ts";
import type { SetUp } from "../set-up/set-up.ts";
import { type Check, check, fine, wrong } from "./check.ts";

/** More than this, and leases or timestamps go wrong. */
const mostSkewMs = 5000;

/** Looks at where events go, without changing anything there. */
export async function checkStores(setUp: SetUp): Promise<readonly Check[]> {
  const { place, config } = setUp;
  const isDefault =
    config.target === undefined && (setUp.handlers === undefined || config.store === undefined);
  if (isDefault && "dataDir" in place && !existsSync(place.dataDir)) {
    return [fine("store", `an embedded inbox, to be made in ${place.dataDir} at its first use`)];
  }
  let found: OpenTarget;
  try {
    found = await findTarget(setUp);
  } catch (error) {
    return [await check("store", () => Promise.reject(error))];
  }
  const opened: Partial<Lifecycle> = "inbox" in found ? found.inbox : found.store;
  try {
    const store = await check("store", () => checkReady(opened, found.where));
    if (store.code === "folder_in_use")
      return [fine("store", `${found.where}, open in another process: not looked into`)];
    const asked = store.ok || store.code === "migration_missing";
    return [store, ...(asked && opened.now ? [await check("clock", () => checkClock(opened))] : [])];
  } finally {
    await found.close().catch(() => {}); // what is wrong with it is told
  }
}

/** Reachable, migrated, and set up as it must be: a Redis that may evict keys is refused. */
async function checkReady(opened: Partial<Lifecycle>, where: string): Promise<Check> {
  await opened.ready?.();
  return fine("store", opened.ready ? where : `${where}, which cannot be asked how it is`);
}

async function checkClock(opened: Partial<Lifecycle>): Promise<Check> {
  const before = Date.now();
  const there = await opened.now?.();
  const here = (before + Date.now()) / 2;
  const skewMs = Math.round(Math.abs((there?.getTime() ?? here) - here));
  return skewMs <= mostSkewMs
    ? fine("clock", `${skewMs} ms from the database's`)
    : wrong("clock", `${(skewMs / 1000).toFixed(1)} s from the database's. Set the clocks of both by NTP.`);
}
