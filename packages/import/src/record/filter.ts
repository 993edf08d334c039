import type { DumpedEvent } from "./dumped-event.ts";

/** Selects the events to import. Each option that is left out selects all. */
export interface ImportFilter {
  /** Events with a timestamp at this time or later. */
  readonly since?: Date | undefined;
  /** Events with a timestamp before this time. */
  readonly until?: Date | undefined;
  /** Events of these types, or families such as `"esim.lifecycle.*"`. */
  readonly types?: readonly string[] | undefined;
  /** Events with one of these ids. */
  readonly ids?: readonly string[] | undefined;
  /** Events of these eSIMs. */
  readonly esimReferences?: readonly string[] | undefined;
  /** Deliveries with one of these statuses: `pending`, `sending`, `delivered`, `failed`, `exhausted`. Captured requests have none. */
  readonly statuses?: readonly string[] | undefined;
}

type Test = (event: DumpedEvent) => boolean;

export function createFilter(filter: ImportFilter): Test {
  const { since, until, types, ids, esimReferences, statuses } = filter;
  const tests: Test[] = [];
  const sinceMs = since?.getTime();
  const untilMs = until?.getTime();
  if (sinceMs !== undefined) tests.push(({ occurredMs }) => occurredMs >= sinceMs);
  if (untilMs !== undefined) tests.push(({ occurredMs }) => occurredMs < untilMs);
  if (types !== undefined) tests.push(typeTest(types));
  if (ids !== undefined) tests.push(oneOf(ids, ({ id }) => id));
  if (esimReferences !== undefined) tests.push(oneOf(esimReferences, esimReferenceOf));
  if (statuses !== undefined) tests.push(oneOf(statuses, ({ delivery }) => delivery?.["status"]));
  return (event) => tests.every((test) => test(event));
}

function oneOf(values: readonly string[], field: (event: DumpedEvent) => unknown): Test {
  const wanted = new Set<unknown>(values);
  return (event) => wanted.has(field(event));
}

function typeTest(types: readonly string[]): Test {
  const exact = new Set(types);
  const families = types.filter((type) => type.endsWith("*")).map((type) => type.slice(0, -1));
  return ({ type }) =>
    type !== null && (exact.has(type) || families.some((family) => type.startsWith(family)));
}

function esimReferenceOf({ payload: { data } }: DumpedEvent): unknown {
  return (data as { readonly esimReference?: unknown } | null | undefined)?.esimReference;
}
