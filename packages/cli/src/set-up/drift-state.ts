import type { Logger } from "@esim-webhooks/core";
import { type DriftWatch, watchDrift } from "@esim-webhooks/core/drift";
import { programError } from "../program/program-error.ts";
import { existingState, type OpenState, openState } from "./open-target.ts";
import type { SetUp } from "./set-up.ts";

/** Whether there is a place for what `serve` sees of events: a target or a store of the config's own needs a state. */
export function hasDriftState({ config }: SetUp): boolean {
  return config.state !== undefined || (config.target === undefined && config.store === undefined);
}

/** Opens what `serve` has noted of events; creates nothing. Undefined if the embedded inbox does not exist yet. Throws `invalid_config` without a place. */
export async function findDriftState(setUp: SetUp): Promise<OpenState | undefined> {
  if (!hasDriftState(setUp)) {
    throw programError(
      "invalid_config",
      `${setUp.file} has its own target or store but no state, so there is no place for what is seen of events.`,
      "Add one to the config: state: postgresState({ url }), sqliteState({ path }), redisState(url) or fileState(folder).",
    );
  }
  return existingState(setUp);
}

/** Watches the events of a receiver for drift. Undefined without a usable place for what it sees. */
export async function openDrift(
  setUp: SetUp,
  logger: Logger,
): Promise<{ readonly watch: DriftWatch; close(): Promise<void> } | undefined> {
  if (!hasDriftState(setUp)) return undefined;
  try {
    const { state, close } = await openState(setUp);
    return { watch: watchDrift(state, { logger }), close };
  } catch (err) {
    logger.warn(
      { err },
      "Drift of events is not watched: its state store cannot be used. Deliveries are accepted.",
    );
    return undefined;
  }
}
