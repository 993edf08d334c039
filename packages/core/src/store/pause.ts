import * as z from "zod/mini";
import { WebhookError } from "../base/errors.ts";
import type { Logger } from "../base/logger.ts";
import { type OptionsShape, parseOptions, type SettingsOf } from "../base/options.ts";
import { checkTypes } from "../event/catalog.ts";
import { esimCatalog } from "../event/esim-catalog.ts";

/** Options of `InboxAdmin.pause`. */
export interface PauseOptions {
  /** The types to pause, such as `["esim.balance.updated"]`. Default: all. */
  types?: readonly string[];
  /** Why, for other operators: 1 to 500 characters. */
  reason: string;
  /** When the pause ends by itself. Default: it lasts until `resume`. */
  until?: Date;
  /** Who pauses, for other operators: at most 200 characters. Default: no name. */
  by?: string;
  /** The catalog in which `types` must be. Default: the eSIM catalog. */
  catalog?: {
    /** All event types that it has a schema for. */
    readonly types: readonly string[];
  };
}

/** A pause of one type, or of all. */
export interface Pause {
  /** Null: all types. */
  readonly type: string | null;
  /** Why, as the operator wrote. */
  readonly reason: string;
  /** When it began, by the inbox's time. */
  readonly since: Date;
  /** When it ends by itself, by the inbox's time. Null: it lasts until `resume`. */
  readonly until: Date | null;
  /** Who pauses, as the operator wrote. Null: no name was given. */
  readonly by: string | null;
}

/** For authors of inboxes: a pause without its time, which the inbox adds. */
export type NewPause = Omit<Pause, "since">;

type PauseSettings = SettingsOf<PauseOptions, "types" | "until" | "by">;

const shape: OptionsShape<PauseSettings> = {
  types: z.optional(
    z.array(z.string()).check(z.minLength(1, "expected at least one type; leave it out to pause all")),
  ),
  reason: z
    .string()
    .check(z.trim(), z.minLength(1, "expected a reason, for other operators"), z.maxLength(500)),
  until: z.optional(z.date()),
  by: z.optional(z.string().check(z.maxLength(200))),
  catalog: z._default(
    z.custom<PauseSettings["catalog"]>(hasTypes, "expected a catalog: use defineCatalog"),
    esimCatalog,
  ),
};

function hasTypes(value: unknown): boolean {
  return Array.isArray((value as Partial<PauseSettings["catalog"]> | null)?.types);
}

/** For authors of inboxes. Validates the options and returns one pause per type, or one of all types. Throws the errors of `InboxAdmin.pause`. */
export function readPauses(options: PauseOptions): readonly NewPause[] {
  const { types = [null], reason, until = null, by = null, catalog } = parseOptions("pause", shape, options);
  const named = types.filter((type) => type !== null);
  checkTypes("pause", "types", named, catalog);
  if (until !== null && until.getTime() <= Date.now()) {
    throw new WebhookError(
      "invalid_option",
      `until is ${until.toISOString()}, which has passed.`,
      "Name a time in the future, or leave it out: the pause then lasts until resume().",
      { where: "pause", option: "until" },
    );
  }
  return [...new Set(types)].map((type) => ({ type, reason, until, by }));
}

/** For authors of inboxes that pause only as a whole. Throws `invalid_option` if the call names single types. */
export function refuseTypes(where: "pause" | "resume", types: readonly string[] | undefined): void {
  if (types === undefined) return;
  throw new WebhookError(
    "invalid_option",
    "this inbox pauses all types or none, but the call names single types.",
    "Leave types out, or use an inbox on SQLite or Postgres.",
    { where, option: "types" },
  );
}

/**
 * For authors of inboxes that hold the events of paused types. Calls `hold`, which holds the events of a stored pause, or lets those of an ended
 * one go. Logs its failure instead of rejecting, since the pause is stored or ended already: workers hold or let go the rest as they take events.
 */
export async function holdAndLog(logger: Logger, hold: () => Promise<void>): Promise<void> {
  try {
    await hold();
  } catch (err) {
    logger.warn(
      { err, code: "holding_failed" },
      "The pause was stored or ended, but not all of its events were held or let go. Workers do the rest as they take events; until then, takes may be slow.",
    );
  }
}
