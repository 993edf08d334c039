import type { Lifecycle } from "@esim-webhooks/core";
import { durableStores, hasRole } from "@esim-webhooks/core/kit";
import { fileIn, isThere } from "../set-up/default-place.ts";
import { namingStore } from "../set-up/named-store.ts";
import { findInbox, findTarget, type OpenInbox, type OpenTarget } from "../set-up/open-target.ts";
import type { SetUp } from "../set-up/set-up.ts";
import { openLeftBehind } from "../set-up/waiting.ts";
import { type Check, check, failed, passed } from "./check.ts";
import { checkDead } from "./dead-check.ts";
import { checkFile } from "./file-check.ts";
import { checkSilence } from "./silence-check.ts";
import { checkWaiting } from "./waiting-check.ts";

/** As much of a store or an inbox as doctor looks at. */
type Opened = Partial<Lifecycle> & { readonly capabilities?: { readonly durable: boolean } };

/** With more skew than this, leases or timestamps go wrong. */
const mostSkewMs = 5000;

/** Checks the store or the inbox, without changing anything in it. `folder` is the check of the folder for embedded data. */
export async function checkStores(
  setUp: SetUp,
  folder: Check | undefined,
  silenceMs: number,
): Promise<readonly Check[]> {
  const { place, config } = setUp;
  const isDefault =
    config.target === undefined && (setUp.handlers === undefined || config.store === undefined);
  let found: OpenTarget;
  try {
    if (isDefault && "dataDir" in place && !isThere(place) && folder?.ok === false) return [];
    if (isDefault && "dataDir" in place && !isThere(place))
      return [passed("store", `an embedded inbox; its first use will create it in ${place.dataDir}`)];
    found = await findTarget(setUp);
  } catch (error) {
    return [await check("store", () => Promise.reject(error))];
  }
  const opened: Opened = "inbox" in found ? found.inbox : found.store;
  const beside = "inbox" in found ? undefined : await openBeside(setUp);
  const inbox = "inbox" in found ? found.inbox : beside?.inbox;
  try {
    const store = withPlace(
      await check("store", () => checkReady(opened, found.where, setUp, folder)),
      opened,
    );
    const isReachable = store.ok || store.code === "migration_missing";
    return [
      store,
      ...(store.ok && isDefault && "dataDir" in place
        ? [await check("file", () => checkFile(fileIn(place.dataDir)))]
        : []),
      ...(isReachable && opened.now ? [await check("clock", () => checkClock(opened))] : []),
      ...(store.ok && inbox && hasRole(inbox, "admin")
        ? [
            await check("waiting", () => checkWaiting(inbox, setUp.handlers !== undefined)),
            await check("dead", () => checkDead(inbox)),
            // an inbox beside the store of inline handlers gets no deliveries
            ...("inbox" in found ? [await check("silence", () => checkSilence(inbox, silenceMs))] : []),
          ]
        : []),
    ];
  } finally {
    await Promise.allSettled([found.close(), beside?.close()]); // the checks have reported what is wrong
  }
}

/** The default inbox beside the store of inline handlers, if it is there: events that were stored before may wait in it. */
async function openBeside(setUp: SetUp): Promise<OpenInbox | undefined> {
  const { config, place } = setUp;
  if (config.store === undefined) return isThere(place) ? findInbox(setUp, "admin") : undefined;
  const left = await openLeftBehind(setUp);
  if (left === undefined || "dataDir" in place) return left;
  if (await left.inbox.stats().catch(() => undefined)) return left;
  await left.close(); // the Postgres has no inbox
  return undefined;
}

/** Whether it is reachable, migrated and configured correctly: a Redis that may evict keys fails. */
async function checkReady(
  opened: Opened,
  where: string,
  setUp: SetUp,
  folder: Check | undefined,
): Promise<Check> {
  if (opened.ready === undefined) return passed("store", `${where}; not checked, since it has no ready()`);
  await opened.ready().catch((error: unknown) => {
    throw namingStore(error, setUp);
  });
  if (folder?.ok === false) return passed("store", `${where}; it can store events now, but see folder`);
  return passed("store", `${where}${durabilityOf(opened)}`);
}

/** A failure names the server and what is looked at there. */
function withPlace(store: Check, { place }: Opened): Check {
  if (store.ok || place === undefined || store.message.includes(place)) return store;
  return { ...store, message: `${store.message} Looked at: ${place}.` };
}

function durabilityOf({ capabilities }: Opened): string {
  if (capabilities === undefined) return "";
  if (capabilities.durable) return "; durable";
  return `; not durable: it may lose events that it has acknowledged, and reconcile refuses it. Durable: ${durableStores}`;
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
