import { stateInEnvironment } from "../store/state-in-environment.ts";
import type { StateStore } from "../store/state-store.ts";
import type { DriftFinding } from "./finding.ts";
import { type JsonType, jsonTypeNames } from "./json-type.ts";
import { rowName, storedTypes } from "./stored-types.ts";
import { readRow, rowValue, type TypeRow } from "./type-row.ts";

/** The shape of the events of a type, as they were seen. */
export interface SeenType {
  /** The event type. `*`: types whose names are not kept. */
  readonly type: string;
  /** How many deliveries were counted, without those of the last minutes. */
  readonly seen: number;
  /** When the first one was received: ISO 8601. */
  readonly since: string;
  /** When the last of these was received: ISO 8601. */
  readonly until: string;
  /** The fields of `data`, by name. */
  readonly fields: readonly SeenField[];
  /** The findings that are not acknowledged yet. */
  readonly findings: readonly DriftFinding[];
}

/** A field of `data`, as it was seen. */
export interface SeenField {
  /** Its name. `*`: fields whose names are not kept. */
  readonly name: string;
  /** The JSON types that it has had. */
  readonly types: readonly JsonType[];
  /** Whether every event had it. */
  readonly always: boolean;
}

/**
 * Reads what `watchDrift` has seen, by type. Rejects with `store_unavailable`.
 * @param stateStore the state store that `watchDrift` writes
 * @param catalog the catalog in use: a new type that it has by now is not reported any more
 * @param catalog.types the event types of the catalog
 */
export async function readDrift(
  stateStore: Pick<StateStore, "read">,
  catalog: { readonly types: readonly string[] },
): Promise<readonly SeenType[]> {
  const state = stateInEnvironment(stateStore);
  const types = await storedTypes(state);
  const rows = await Promise.all(
    types.map(async (type) => {
      const row = readRow((await state.read(rowName(type)))?.value);
      return seenType(type, row, catalog);
    }),
  );
  return rows.flatMap((row) => row ?? []);
}

function seenType(
  type: string,
  { seen, since, until, fields, findings }: TypeRow,
  catalog: { readonly types: readonly string[] },
): SeenType | undefined {
  if (since === null || until === null) return undefined;
  return {
    type,
    seen,
    since,
    until,
    fields: [...fields].map(([name, { types, always }]) => ({ name, types: jsonTypeNames(types), always })),
    findings: findings
      .filter(
        ({ acknowledged, kind }) => !acknowledged && (kind !== "new_type" || !catalog.types.includes(type)),
      )
      .map(({ acknowledged: _, ...finding }) => finding),
  };
}

/**
 * Acknowledges the findings of these types; without types, all findings. The same change is not found again. Resolves to the number of findings.
 * Rejects with `store_unavailable`.
 */
export async function acknowledgeDrift(
  stateStore: Pick<StateStore, "read" | "write">,
  types?: readonly string[],
): Promise<number> {
  const state = stateInEnvironment(stateStore);
  let ended = 0;
  for (const type of types ?? (await storedTypes(state))) ended += await acknowledgeType(state, type);
  return ended;
}

async function acknowledgeType(state: Pick<StateStore, "read" | "write">, type: string): Promise<number> {
  for (;;) {
    const stored = await state.read(rowName(type));
    const row = readRow(stored?.value);
    const open = row.findings.filter(({ acknowledged }) => !acknowledged);
    if (stored === undefined || open.length === 0) return 0;
    for (const finding of open) finding.acknowledged = true;
    if (await state.write(rowName(type), rowValue(row), stored.version)) return open.length;
  }
}
