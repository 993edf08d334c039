import type { InboxAdmin, InboxFilter, InboxState } from "@esim-webhooks/core";
import { dateTimeMs } from "@esim-webhooks/core/internal";
import * as z from "zod/mini";
import type { Filter } from "./contract.ts";
import { refused } from "./failure.ts";
import type { Visitor } from "./settings.ts";

const text = (most: number) => z.string().check(z.minLength(1), z.maxLength(most));
const time = z
  .string()
  .check(z.refine((value) => !Number.isNaN(dateTimeMs(value)), "expected an ISO 8601 time"));

export const stateShape: z.ZodMiniType<InboxState> = z.enum(["ready", "leased", "done", "unhandled", "dead"]);

/** A filter as the page sends it. */
export const filterShape: z.ZodMiniType<Filter> = z.strictObject({
  state: z.optional(stateShape),
  dueLater: z.optional(z.literal(true)),
  types: z.optional(z.array(text(200)).check(z.minLength(1), z.maxLength(200))),
  source: z.optional(text(500)),
  subject: z.optional(text(200)),
  ids: z.optional(z.array(text(500)).check(z.minLength(1), z.maxLength(50))),
  idPrefix: z.optional(text(500)),
  error: z.optional(text(500)),
  cause: z.optional(text(1000)),
  since: z.optional(time),
  until: z.optional(time),
}) as unknown as z.ZodMiniType<Filter>;

/** The inbox's filter, without the cause: see `select`. An engine without an index of id prefixes takes the prefix for a whole id. */
export function inboxFilter({ capabilities }: Pick<InboxAdmin, "capabilities">, filter: Filter): InboxFilter {
  const { since, until, idPrefix, dueLater, cause: _, ...same } = filter;
  return {
    ...same,
    ...(idPrefix !== undefined && (capabilities.filters === undefined ? { idPrefix } : { ids: [idPrefix] })),
    ...(dueLater && capabilities.filters === undefined && { dueAfter: new Date() }),
    ...(since !== undefined && { since: new Date(dateTimeMs(since)) }),
    ...(until !== undefined && { until: new Date(dateTimeMs(until)) }),
  };
}

/** The filters that BullMQ has no index of. */
const unindexed = ["types", "source", "subject", "error", "since", "until"] as const;

/** The filters that the engine of an inbox, or the visitor's role, does not have, each with the reason. */
export function missingFilters(
  { capabilities }: Pick<InboxAdmin, "capabilities">,
  role: Visitor["role"],
): Readonly<Partial<Record<keyof Filter, string>>> {
  if (capabilities.filters === undefined)
    return role === "operator" ? {} : { error: "For operators: the search reads what viewers see masked." };
  const reason = "The engine of this inbox finds events only by their state or their whole id.";
  return Object.fromEntries(unindexed.map((filter) => [filter, reason]));
}

/** Throws `not_an_operator` for a viewer's search in errors: digit by digit, its answers would reveal what is masked. */
export function checkFilter({ error }: Filter, role: Visitor["role"]): void {
  if (error === undefined || role === "operator") return;
  throw refused(
    "not_an_operator",
    "Only operators search the text of errors, since viewers see it masked.",
    "Choose a cause on the page Now instead.",
  );
}
