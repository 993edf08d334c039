import type { StateStore } from "@esim-webhooks/core";
import { ProgramError } from "../program/program-error.ts";
import { defaultState } from "./default-place.ts";
import { type Patience, prepared } from "./prepared.ts";
import type { SetUp } from "./set-up.ts";

/** Where small durable state is kept, such as how far a reconciliation has come. */
export interface OpenState {
  readonly state: StateStore;
  close(): Promise<void>;
}

/**
 * Opens the state that goes with the target of the set-up: the config's, else the place of the default inbox or store. Migrates
 * its tables, and checks that it is reachable. Throws `invalid_config` as `findState` does.
 */
export async function openState(setUp: SetUp, patience?: Patience): Promise<OpenState> {
  const open = await findState(setUp);
  const own = setUp.config.state === undefined ? undefined : "state";
  return prepared(setUp, open, open.state, { own, patience });
}

/**
 * The same state, neither migrated nor checked: for commands that change nothing.
 *
 * Throws `invalid_config` for a target or a store of the config's own without a state. The default place would not be lost
 * together with that target, and a mark that survives its events hides that they are missing.
 */
export async function findState(setUp: SetUp): Promise<OpenState> {
  const { config, file, place } = setUp;
  const own = config.target !== undefined ? "target" : config.store !== undefined ? "store" : undefined;
  if (config.state === undefined && own !== undefined) {
    throw new ProgramError(
      "invalid_config",
      `${file} has its own ${own} but no state, so there is no place for how far the command has come.`,
      "Add one in the same database: state: postgresState({ url }), sqliteState({ path }), or beside bullmqInbox redisState(url) of @esim-webhooks/store-redis.",
    );
  }
  const state = config.state ?? (await defaultState(place));
  return { state, close: async () => state.close?.() };
}
