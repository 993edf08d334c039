import {
  type DedupeStore,
  type Handlers,
  type InboxQueue,
  type InboxWriter,
  type Logger,
  type StateStore,
  stateInEnvironment,
} from "@esim-webhooks/core";
import { hasRole, type InboxRoles } from "@esim-webhooks/core/internal";
import { programError } from "../program/program-error.ts";
import { sentenceStart } from "../terminal/text.ts";
import type { ConfigTarget, OwnWorkers } from "./config.ts";
import { defaultInbox, defaultState, defaultStore, isThere } from "./default-place.ts";
import { nameOfOwn, placeNote } from "./named-store.ts";
import { nameOf } from "./place.ts";
import { type Patience, prepared } from "./prepared.ts";
import type { SetUp } from "./set-up.ts";

/** Where events go: into an inbox, or to handlers, with a store that remembers done ids. */
export type OpenTarget = {
  /** Names the target in messages. */
  readonly where: string;
  /** Names the inbox or the store in messages. */
  readonly storedIn: string;
  close(): Promise<void>;
} & (
  | { readonly inbox: ConfigTarget<unknown> }
  | { readonly handlers: Handlers<unknown>; readonly store: DedupeStore }
);

/** An inbox with the role that a command needs. */
export interface OpenInbox<Role = unknown> {
  readonly inbox: Role;
  /** Names the inbox in messages. Contains no password. */
  readonly where: string;
  close(): Promise<void>;
}

/**
 * Opens the target of `serve` and `import`: the config's target, else its handlers, else the default inbox.
 * Migrates its tables, and checks that it is reachable.
 */
export async function openTarget(setUp: SetUp, patience?: Patience): Promise<OpenTarget> {
  const found = await findTarget(setUp);
  return prepared(setUp, found, "inbox" in found ? found.inbox : found.store, { patience });
}

/** As `openTarget`, but neither migrates nor checks anything: for commands that change nothing. */
export async function findTarget(setUp: SetUp): Promise<OpenTarget> {
  const { config, handlers, file, place } = setUp;
  if (config.target !== undefined || handlers === undefined) {
    const open = await anyInbox(setUp);
    return { ...open, storedIn: open.where };
  }
  const store = config.store ?? (await defaultStore(place));
  const storedIn = config.store ? nameOfOwn("store", setUp) : nameOf(place);
  const kept = config.store ? `its store${placeNote(config.store)}` : storedIn;
  const where = `the handlers in ${file}; done ids are kept in ${kept}`;
  return { handlers, store, where, storedIn, close: async () => store.close() };
}

/** An inbox whose events a worker can take: one of ours, or one of the inbox's engine. */
export type Workable = InboxQueue | (ConfigTarget & OwnWorkers);

function isWorkable(inbox: ConfigTarget): inbox is ConfigTarget & Workable {
  return hasRole(inbox, "queue") || typeof inbox.createWorker === "function";
}

/** Opens the inbox for a worker, and migrates its tables. Throws `not_an_inbox` as `findInbox` does. */
export async function openQueue(setUp: SetUp): Promise<OpenInbox<Workable>> {
  const { inbox, where, close } = await anyInbox(setUp);
  if (isWorkable(inbox)) return prepared(setUp, { inbox, where, close }, inbox);
  throw missingRole("queue", where);
}

/**
 * Opens the inbox whose events `serve` processes: its target, or the default inbox if its handlers use the default store.
 * Undefined if no worker can take from it, or there are no handlers.
 */
export async function openQueueOf(
  target: OpenTarget,
  setUp: SetUp,
): Promise<OpenInbox<Workable> | undefined> {
  const { handlers, config } = setUp;
  if (handlers === undefined) return undefined;
  if (!("inbox" in target)) return config.store === undefined ? openQueue(setUp) : undefined;
  const { inbox, where } = target;
  return isWorkable(inbox) ? { inbox, where, close: async () => {} } : undefined; // closed with the target
}

/**
 * Finds the config's target, else the default inbox, neither migrated nor checked yet.
 * Throws `not_an_inbox` when the config's target does not have the role. The default inbox logs to `logger`.
 */
export async function findInbox<Name extends "queue" | "admin">(
  setUp: SetUp,
  role: Name,
  logger?: Logger,
): Promise<OpenInbox<InboxRoles[Name]>> {
  const { inbox, where, close } = await anyInbox(setUp, logger);
  if (hasRole(inbox, role)) return { inbox, where, close };
  throw missingRole(role, where);
}

/** The error for a target without the role. */
export function missingRole(role: "queue" | "admin", where: string): Error {
  return programError(
    "not_an_inbox",
    `${sentenceStart(where)} can store events, but lacks the role "${role}", which this command needs.`,
    "Use the tools of that queue, or an inbox such as sqliteInbox or postgresInbox.",
  );
}

async function anyInbox(setUp: SetUp, logger?: Logger): Promise<OpenInbox<ConfigTarget<unknown>>> {
  const { config, place } = setUp;
  const { target } = config;
  const inbox = target ?? (await defaultInbox(place, logger));
  const where = target === undefined ? nameOf(place) : nameOfOwn("target", setUp);
  return { inbox, where, close: async () => inbox.close?.() };
}

/** Whether there is an inbox yet: the config's, or the default one as `isThere` says. */
export function hasInbox({ config, place }: SetUp): boolean {
  return config.target !== undefined || isThere(place);
}

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
 * As `openState`, but neither migrates nor checks anything: for commands that change nothing.
 *
 * Throws `invalid_config` for a target or a store of the config's own without a state. The default place would not be lost
 * together with that target, and a mark that survives its events hides that they are missing.
 */
export async function findState(setUp: SetUp): Promise<OpenState> {
  const { config, environment, file, place } = setUp;
  const own = config.target !== undefined ? "target" : config.store !== undefined ? "store" : undefined;
  if (config.state === undefined && own !== undefined) {
    throw programError(
      "invalid_config",
      `${file} has its own ${own} but no state, so there is no place for how far the command has come.`,
      "Add one in the same database: state: postgresState({ url }), sqliteState({ path }), or for a bullmqInbox redisState(url) of @esim-webhooks/store-redis. With SQS or DynamoDB: state: fileState(folder) of @esim-webhooks/core/state, in a folder that is kept.",
    );
  }
  const state = config.state ?? (await defaultState(place));
  return { state: stateInEnvironment(state, environment), close: async () => state.close?.() };
}

/** The state of the set-up, if it exists already: nothing is created. */
export async function existingState(setUp: SetUp): Promise<OpenState | undefined> {
  const { config, environment, place } = setUp;
  if (config.state !== undefined)
    return { state: stateInEnvironment(config.state, environment), close: async () => {} }; // closed at the end, with the config
  const isDefault = config.target === undefined && config.store === undefined;
  return isDefault && isThere(place) ? findState(setUp) : undefined;
}

/** The target and its options for `importDeliveries`. */
export interface ImportTarget {
  readonly target: Pick<InboxWriter, "put"> | Handlers<unknown>;
  readonly options: { readonly store?: Extract<OpenTarget, { store: unknown }>["store"] };
}

export function importTarget(open: OpenTarget): ImportTarget {
  if ("inbox" in open) return { target: open.inbox, options: {} };
  return { target: open.handlers, options: { store: open.store } };
}

/** The target of a dry run, which calls none of its functions: nothing is opened. It has the roles of the real one. */
export function untouchedTarget({ config, handlers }: SetUp): ImportTarget {
  if (config.target !== undefined) return { target: config.target, options: {} };
  return { target: handlers ?? untouchedInbox, options: {} };
}

const refuse = () => Promise.reject(new Error("A dry run called its target."));

/** Takes the place of the default inbox, which has every role. */
const untouchedInbox = { put: refuse, rerun: refuse, capabilities: { roles: ["writer", "rerun"] } };
