import { type Lifecycle, WebhookError } from "@esim-webhooks/core";
import { nameOf } from "./place.ts";
import type { SetUp } from "./set-up.ts";

/** The name of a set-up's store or inbox, and what a person can check when it does not answer. */
interface NamedStore {
  readonly name: string;
  readonly remedy: string;
}

/** The option of a config that holds a store of its own. */
export type OwnStore = "target" | "store" | "state";

function ownStoreOf({ config, handlers }: SetUp): OwnStore | undefined {
  if (config.target !== undefined) return "target";
  return handlers !== undefined && config.store !== undefined ? "store" : undefined;
}

/** How messages name the config's own store or inbox: without its password. */
export function nameOfOwn(own: OwnStore, setUp: SetUp): string {
  return `the ${withPlace(own, setUp)}`;
}

function withPlace(own: OwnStore, { config, file }: SetUp): string {
  return `${own} in ${file}${placeNote(config[own])}`;
}

/** Where a store keeps its data, in brackets; empty if it does not say. */
export function placeNote(store: Pick<Lifecycle, "place"> | undefined): string {
  return store?.place === undefined ? "" : ` (${store.place})`;
}

/** The store by its place; `own`: the option of the config that holds it. Undefined for an embedded one, whose errors name its file. */
function storeOf(setUp: SetUp, own: OwnStore | undefined = ownStoreOf(setUp)): NamedStore | undefined {
  const { place } = setUp;
  if (own !== undefined) {
    return {
      name: `The ${withPlace(own, setUp)}`,
      remedy: "Check its server, and the options that the file gives it.",
    };
  }
  if ("dataDir" in place) return undefined;
  return {
    name: nameOf(place),
    remedy: "Check that it runs, and the host, the user, the password and the database in DATABASE_URL.",
  };
}

/** An error of a store that is unreachable or not set up, with the place of the store. Any other error as it is. */
export function namingStore(error: unknown, setUp: SetUp, own?: OwnStore): unknown {
  const store = storeOf(setUp, own);
  if (store === undefined || !WebhookError.is(error)) return error;
  const { code, problem } = error;
  const named = (problem: string, remedy: string) =>
    new WebhookError<string>(code, `${store.name} ${problem}`, remedy, { cause: error });
  if (code === "migration_missing")
    return named("is not set up for this version.", "Run esim-webhooks migrate.");
  if (code !== "store_unavailable" || / certificate /.test(problem)) return error;
  return named("cannot be reached, or refused what it was asked.", store.remedy);
}
