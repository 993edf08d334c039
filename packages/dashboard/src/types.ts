import { driftText, readDrift } from "@esim-webhooks/core/drift";
import type { Calls } from "./contract.ts";
import { pauseView, timeOf } from "./rows.ts";
import { select } from "./selection.ts";
import type { Settings } from "./settings.ts";
import type { TypeCounts, TypesView } from "./views.ts";

/** The types that can be paused: those of the catalog, those that are paused, and those whose events differ from the catalog. */
export async function types({ inbox, ...settings }: Settings): Promise<TypesView> {
  const pauses = (await inbox.paused()).map(pauseView);
  const found = await findingsByType(settings);
  const pauseOf = (type: string | null) => pauses.find((each) => each.type === type) ?? null;
  const names = new Set([
    ...pauses.flatMap(({ type }) => type ?? []),
    ...settings.catalog.types,
    ...found.keys(),
  ]);
  return {
    allPaused: pauseOf(null),
    types: [...names].map((type) => ({ type, pause: pauseOf(type), drift: found.get(type) ?? [] })),
  };
}

/** The findings of drift as sentences, by type. None while the state store does not answer: the page is about the inbox. */
async function findingsByType({
  drift,
  catalog,
  logger,
}: Omit<Settings, "inbox">): Promise<ReadonlyMap<string, readonly string[]>> {
  if (drift === undefined) return new Map();
  try {
    const seen = (await readDrift(drift, catalog)).filter(({ findings }) => findings.length > 0);
    return new Map(
      seen.map(({ type, findings }) => [type, findings.map((finding) => driftText(type, finding))]),
    );
  } catch (err) {
    logger.error({ err }, "The dashboard cannot read the drift of events: its state store did not answer.");
    return new Map();
  }
}

/** The most events of a page. An inbox reads that many in a few milliseconds. */
const mostOfPage = 1000;

/** A page of the events of a state, the newest first, counted by type. */
export async function typeCounts(
  { inbox }: Settings,
  { state, cursor }: Calls["typeCounts"]["in"],
): Promise<TypeCounts> {
  const { rows, nextCursor } = await select(inbox, { state }, mostOfPage, cursor);
  const groups = Map.groupBy(rows, ({ type }) => type);
  const counts = [...groups].map(([type, ofType]) => ({
    type,
    count: ofType.length,
    lastAt: timeOf(ofType[0]?.receivedAt ?? null),
  }));
  return { counts, nextCursor };
}
