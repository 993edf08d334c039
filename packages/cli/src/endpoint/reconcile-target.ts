import type { StateStore } from "@esim-webhooks/core";
import type { ReconcileSetup, ReconcileTarget } from "@esim-webhooks/endpoint";
import { withDefer } from "../program/with-defer.ts";
import { isThere } from "../set-up/default-place.ts";
import {
  findState,
  type ImportTarget,
  importTarget,
  openState,
  openTarget,
  untouchedTarget,
} from "../set-up/open-target.ts";
import type { Patience } from "../set-up/prepared.ts";
import type { SetUp } from "../set-up/set-up.ts";

/** The target of a set-up for `reconcile`, and what goes with it: its state, the source and the catalog. */
export interface OpenReconcileTarget {
  readonly target: ReconcileTarget<unknown, unknown>;
  readonly options: ReconcileSetup<unknown>;
  /** Names the target in messages. */
  readonly where: string;
  close(): Promise<void>;
}

/** Opens the target as `import` does, and its state. `patience` waits for a database that is unreachable. */
export async function openReconcileTarget(setUp: SetUp, patience?: Patience): Promise<OpenReconcileTarget> {
  const state = await openState(setUp, patience);
  const opened = await openTarget(setUp, patience).catch(async (error: unknown) => {
    await state.close().catch(() => {}); // report the first error
    throw error;
  });
  const { target, options } = importTarget(opened);
  return {
    target: target as OpenReconcileTarget["target"],
    options: optionsOf(setUp, options, state.state),
    where: opened.where,
    close: () =>
      withDefer(async (defer) => {
        defer(state.close);
        await opened.close();
      }),
  };
}

/** As `openReconcileTarget`, for a dry run, which only reads the state. */
export async function untouchedReconcileTarget(setUp: SetUp): Promise<OpenReconcileTarget> {
  const { config, place } = setUp;
  const isMade = config.target !== undefined || config.store !== undefined || isThere(place);
  const { state, close } = isMade ? await findState(setUp) : { state: emptyState, close: async () => {} };
  const { target, options } = untouchedTarget(setUp);
  return {
    target: target as OpenReconcileTarget["target"],
    options: optionsOf(setUp, options, state),
    where: "nothing: this is a dry run",
    close,
  };
}

function optionsOf(
  { source, catalog, handlers }: SetUp,
  options: ImportTarget["options"],
  state: StateStore,
): ReconcileSetup<unknown> {
  return {
    ...options,
    state,
    source,
    ...(catalog && { catalog }),
    ...(handlers && { eventTypes: Object.keys(handlers) }), // also for an inbox: its workers have the handlers
  };
}

/** Takes the place of an embedded state that does not exist: opening one would create it. */
const emptyState: StateStore = {
  capabilities: { durable: true, multiProcess: true },
  ready: async () => {},
  read: async () => undefined,
  write: async () => false,
  close: async () => {},
};
