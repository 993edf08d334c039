import { stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Lifecycle, WebhookError } from "@esim-webhooks/core";
import { durableStores, hasRole, pageOf } from "@esim-webhooks/core/internal";
import { errorCodeOf } from "../program/exit-code.ts";
import { fileIn, isThere, wasUsed } from "../set-up/default-place.ts";
import { namingStore } from "../set-up/named-store.ts";
import { findInbox, findTarget, type OpenInbox, type OpenTarget } from "../set-up/open-target.ts";
import type { SetUp } from "../set-up/set-up.ts";
import { openLeftBehind } from "../set-up/waiting.ts";
import { bytes } from "../terminal/quantities.ts";
import { type Check, check, failed, passed } from "./check.ts";
import { checkInbox, checkPasses, checkSilence } from "./inbox-checks.ts";

/** The part of a store or an inbox that doctor uses. */
type Opened = Partial<Lifecycle> & { readonly capabilities?: { readonly durable: boolean } };

/** With more skew than this, leases or timestamps go wrong. */
const mostSkewMs = 5000;

/** Checks the store or the inbox. Changes no event in it; opening an SQLite file updates its tables. `folder`: the result of the folder's check, if there is one. */
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
    if (isDefault && "dataDir" in place && !isThere(place) && wasUsed(place)) {
      return [
        failed(
          "store",
          `${place.dataDir} was used, and has no ${basename(fileIn(place))}: the file was removed, with the events in it, or a first start was interrupted. The next start begins with an empty one. ${pageOf("docs/runbook.md")} says how to get the events back, under "We lost the database".`,
        ),
      ];
    }
    if (isDefault && "dataDir" in place && !isThere(place))
      return [passed("store", `an embedded inbox; its first use will create it in ${place.dataDir}`)];
    found = await findTarget(setUp);
  } catch (error) {
    return [await check("store", () => Promise.reject(error))];
  }
  const opened: Opened = "inbox" in found ? found.inbox : found.store;
  const defaultInbox = "inbox" in found ? undefined : await openDefaultInbox(setUp);
  const inbox = "inbox" in found ? found.inbox : defaultInbox?.inbox;
  try {
    const store = withPlace(
      await check("store", () => checkReady(opened, found.where, setUp, folder)),
      opened,
    );
    const isReachable = store.ok || store.code === "migration_missing";
    return [
      store,
      ...(store.ok && isDefault && "dataDir" in place
        ? [await check("file", () => checkFile(fileIn(place), join(place.dataDir, basename(fileIn(place)))))]
        : []),
      ...(isReachable && opened.now ? [await check("clock", () => checkClock(opened))] : []),
      ...(store.ok && inbox && hasRole(inbox, "admin")
        ? [
            ...(await checkInbox(inbox, setUp.handlers !== undefined)),
            // an inbox next to the store of inline handlers gets no deliveries and no passes
            ...("inbox" in found
              ? [
                  await check("passes", () => checkPasses(inbox)),
                  await check("silence", () => checkSilence(inbox, silenceMs)),
                ]
              : []),
          ]
        : []),
    ];
  } finally {
    await Promise.allSettled([found.close(), defaultInbox?.close()]); // the checks have reported what is wrong
  }
}

/** The default inbox next to the store of inline handlers, if there is one: events that were stored before the handlers ran inline may wait in it. */
async function openDefaultInbox(setUp: SetUp): Promise<OpenInbox | undefined> {
  const { config, place } = setUp;
  if (config.store === undefined) return isThere(place) ? findInbox(setUp, "admin") : undefined;
  const left = await openLeftBehind(setUp);
  if (left === undefined || "dataDir" in place) return left;
  if (await left.inbox.gauges().catch(() => undefined)) return left;
  await left.close(); // the Postgres has no inbox, or is unreachable
  return undefined;
}

/** Checks whether the store is reachable, migrated and configured correctly: a Redis that may evict keys fails. */
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

/** Adds the place of the store to a failure that does not name it. */
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

/** A larger file takes too long to read: a gigabyte takes about a second if it is cached in memory, else as long as the disk takes. */
const mostBytes = 1024 ** 3;

/** Looks for damage in the file of the embedded inbox, which opens without an error as long as the damaged part is not read. */
export async function checkFile(path: string, shown: string, most: number = mostBytes): Promise<Check> {
  const { size } = await stat(path);
  if (size > most) {
    return passed(
      "file",
      `${shown} was not searched for damage, since it has ${bytes(size)}: sqlite3 ${shown} "pragma quick_check(1)" reads all of it`,
    );
  }
  const { sqliteCheck } = await import("@esim-webhooks/store-sqlite");
  try {
    await sqliteCheck({ path });
    return passed("file", `no damage in the ${bytes(size)} of ${shown}`);
  } catch (error) {
    const code = errorCodeOf(error);
    if (code !== "database_corrupt") throw error;
    const { problem } = error as WebhookError; // its remedy names no commands
    return {
      ...failed(
        "file",
        `${problem} Stop what uses it, keep a copy, and restore a backup: ${pageOf("docs/runbook.md")} says how under "We lost the database". esim-webhooks reconcile recovers what was received after the backup.`,
      ),
      code,
    };
  }
}
