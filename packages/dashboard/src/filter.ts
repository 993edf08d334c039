import type { InboxAdmin, InboxFilter } from "@esim-webhooks/core";
import { dateTimeMs } from "@esim-webhooks/core/kit";
import * as z from "zod/mini";
import type { Filter } from "./contract.ts";

const text = (most: number) => z.string().check(z.minLength(1), z.maxLength(most));
const time = z
  .string()
  .check(z.refine((value) => !Number.isNaN(dateTimeMs(value)), "expected an ISO 8601 time"));

/** A filter as the page sends it. */
export const filterShape: z.ZodMiniType<Filter> = z.strictObject({
  state: z.optional(z.enum(["ready", "leased", "done", "unhandled", "dead"])),
  types: z.optional(z.array(text(200)).check(z.minLength(1), z.maxLength(200))),
  source: z.optional(text(500)),
  subject: z.optional(text(200)),
  id: z.optional(text(500)),
  idPrefix: z.optional(text(500)),
  error: z.optional(text(500)),
  since: z.optional(time),
  until: z.optional(time),
}) as unknown as z.ZodMiniType<Filter>;

/** The inbox's filter. An engine that has no index of the beginnings of ids gets whole ones. */
export function inboxFilter({ capabilities }: Pick<InboxAdmin, "capabilities">, filter: Filter): InboxFilter {
  const { since, until, id, idPrefix, ...same } = filter;
  return {
    ...same,
    ...(idPrefix !== undefined && (capabilities.filters === undefined ? { idPrefix } : { ids: [idPrefix] })),
    ...(id !== undefined && { ids: [id] }),
    ...(since !== undefined && { since: new Date(dateTimeMs(since)) }),
    ...(until !== undefined && { until: new Date(dateTimeMs(until)) }),
  };
}

const names: Readonly<Partial<Record<keyof Filter, string>>> = {
  types: "type",
  source: "source",
  subject: "eSIM",
  error: "error",
  since: "time",
  until: "time",
};

/** The filters that the engine of an inbox does not have, each with the reason. */
export function missingFilters({
  capabilities,
}: Pick<InboxAdmin, "capabilities">): Readonly<Partial<Record<keyof Filter, string>>> {
  if (capabilities.filters === undefined) return {};
  const reasons = Object.entries(names).map(([filter, name]) => [
    filter,
    `The engine of this inbox cannot select events by ${name}: filter by state, or by a whole id.`,
  ]);
  return Object.fromEntries(reasons);
}
