import { type Lifecycle, WebhookError } from "@esim-webhooks/core";
import type { PostgresErrorCode } from "@esim-webhooks/store-postgres";
import { nameOf } from "./place.ts";
import type { SetUp } from "./set-up.ts";

/** The store or the inbox of a set-up, and what a person can check when it does not answer. */
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

/** The config's own store or inbox in messages. Contains no password. */
export function nameOfOwn(own: OwnStore, setUp: SetUp): string {
  return `the ${withPlace(own, setUp)}`;
}

function withPlace(own: OwnStore, { config, file }: SetUp): string {
  return `${own} in ${file}${placeNote(config[own])}`;
}

/** Where a store keeps its data, in brackets; empty if it cannot tell. */
export function placeNote(store: Pick<Lifecycle, "place"> | undefined): string {
  return store?.place === undefined ? "" : ` (${store.place})`;
}

function storeOf(setUp: SetUp, own: OwnStore | undefined): NamedStore | undefined {
  const { place } = setUp;
  if (own !== undefined) {
    return {
      name: `The ${withPlace(own, setUp)}`,
      remedy: "Check its server, and the options that the file gives it.",
    };
  }
  if ("dataDir" in place) return undefined; // its errors name the file, and what to do
  return {
    name: nameOf(place),
    remedy: "Check that it runs, and the host, the user, the password and the database in DATABASE_URL.",
  };
}

/**
 * An error of a store as the command line says it: with what the user wrote, in place of what we call it inside. `own` is the
 * option of the config that holds it; undefined for the default place.
 */
export function namingStore(
  error: unknown,
  setUp: SetUp,
  own: OwnStore | undefined = ownStoreOf(setUp),
): unknown {
  if (!WebhookError.is(error)) return error;
  const store = storeOf(setUp, own);
  if (store === undefined) return error;
  if (error.code === "store_unavailable") {
    const problem = `${store.name} cannot be reached, or refused what it was asked.`;
    return new WebhookError("store_unavailable", problem, store.remedy, { cause: error });
  }
  if (error.code === "migration_missing") {
    return new WebhookError<PostgresErrorCode>(
      "migration_missing",
      `${store.name} is not set up for this version.`,
      "Run esim-webhooks migrate.",
      { cause: error },
    );
  }
  return error;
}
