import { esimCatalog } from "../event/esim-catalog.ts";
import type { StateStore } from "../store/state-store.ts";
import { folded } from "./fold.ts";

/** The state that lists the seen types that the eSIM catalog lacks. */
const listName = "drift";
const mostTypes = 64;

/** The name of a type's state. */
export function rowName(type: string): string {
  return `drift.${type}`;
}

/** Reads the list of types that have a state, except those of the eSIM catalog. */
async function readList(state: Pick<StateStore, "read">): Promise<{ types: string[]; version?: string }> {
  const stored = await state.read(listName);
  if (stored === undefined) return { types: [] };
  const types = Array.isArray(stored.value) ? stored.value.filter((type) => typeof type === "string") : [];
  return { types, version: stored.version };
}

/** All types that may have a state. */
export async function storedTypes(state: Pick<StateStore, "read">): Promise<readonly string[]> {
  return [...esimCatalog.types, ...(await readList(state)).types];
}

/** Lists a type that the eSIM catalog lacks. Resolves to the type, or to `*` if the list is full. */
export async function listType(state: Pick<StateStore, "read" | "write">, type: string): Promise<string> {
  if ((esimCatalog.types as readonly string[]).includes(type)) return type;
  for (;;) {
    const { types, version } = await readList(state);
    if (types.includes(type)) return type;
    const kept = types.length < mostTypes - 1 ? type : folded;
    if (types.includes(kept) || (await state.write(listName, [...types, kept], version))) return kept;
  }
}
