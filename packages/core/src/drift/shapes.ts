import { documentedType, type Enumeration } from "./documented.ts";
import { foldField, foldValue } from "./fold.ts";
import { type JsonTypes, jsonTypeOf } from "./json-type.ts";

/** Field → JSON types, with folded names. */
export type Fields = ReadonlyMap<string, JsonTypes>;

/** The part of a type that this process has seen and not yet written. */
export interface Unwritten {
  /** How many events there were. */
  readonly seen: number;
  readonly since: Date;
  readonly until: Date;
  /** The shapes that were not seen before. */
  readonly shapes: readonly Fields[];
  /** The undocumented values of enumerations, by field. */
  readonly values: readonly (readonly [field: string, value: string])[];
}

/** The shapes of one event type that this process has seen. */
export interface Shapes {
  /** Counts an event. Returns whether it shows something new. An event of a plain, known shape costs only comparisons, and makes no garbage. */
  add(data: Readonly<Record<string, unknown>>, receivedAt: Date): boolean;
  /** Returns what is not written yet, and clears it; undefined if there is nothing. */
  take(): Unwritten | undefined;
  /** Puts back what could not be written. */
  putBack(unwritten: Unwritten): void;
  /** Forgets which shapes and values are known, so that they are written again: the store has lost them. */
  forget(): void;
}

/** A shape of which no field name is folded: the names in the order of the data, and their types. */
interface PlainShape {
  readonly names: readonly string[];
  readonly types: readonly JsonTypes[];
}

const text: JsonTypes = jsonTypeOf("");
const mostPlain = 16;
const mostKnown = 256;
const mostNew = 64;

export function createShapes(type: string): Shapes {
  const enumerations = documentedType(type)?.enumerations ?? [];
  const plain: PlainShape[] = [];
  const known = new Set<string>();
  let shapes: Fields[] = [];
  let values: (readonly [string, string])[] = [];
  let seen = 0;
  let since: Date | undefined;
  let until: Date | undefined;

  /** Notes a shape that is not among the plain ones. */
  function addShape(data: Readonly<Record<string, unknown>>): boolean {
    const fields = new Map<string, JsonTypes>();
    let isPlain = plain.length < mostPlain;
    for (const [name, value] of Object.entries(data)) {
      const kept = foldField(name);
      isPlain &&= kept === name; // a folded name may be personal data, which is not kept in memory either
      fields.set(kept, (fields.get(kept) ?? 0) | jsonTypeOf(value));
    }
    if (isPlain) plain.push({ names: [...fields.keys()], types: [...fields.values()] });
    const key = [...fields].sort().join();
    if (known.has(key) || shapes.length >= mostNew) return false;
    if (known.size >= mostKnown) known.clear();
    known.add(key);
    shapes.push(fields);
    return true;
  }

  /** A loop, since a callback would be garbage at each event. */
  function isPlainShape(data: Readonly<Record<string, unknown>>): boolean {
    for (const shape of plain) if (fits(shape, data)) return true;
    return false;
  }

  function addValue({ field }: Enumeration, value: string): boolean {
    const kept = foldValue(value);
    const key = `${field}=${kept}`;
    if (known.has(key) || values.length >= mostNew) return false;
    known.add(key);
    values.push([field, kept]);
    return true;
  }

  return {
    add(data, receivedAt) {
      seen += 1;
      since ??= receivedAt;
      until = receivedAt;
      let isNew = !isPlainShape(data) && addShape(data);
      for (const each of enumerations) {
        const value = data[each.field];
        if (typeof value === "string" && !each.values.has(value)) isNew = addValue(each, value) || isNew;
      }
      return isNew;
    },
    take() {
      if (since === undefined || until === undefined) return undefined;
      const taken = { seen, since, until, shapes, values };
      [seen, since, until, shapes, values] = [0, undefined, undefined, [], []];
      return taken;
    },
    putBack(unwritten) {
      seen += unwritten.seen;
      since = unwritten.since;
      until ??= unwritten.until;
      shapes = [...unwritten.shapes, ...shapes];
      values = [...unwritten.values, ...values];
    },
    forget() {
      plain.length = 0;
      known.clear();
    },
  };
}

/** Whether data has exactly the fields of a shape, in their order, with the same JSON types. */
function fits({ names, types }: PlainShape, data: Readonly<Record<string, unknown>>): boolean {
  let at = 0;
  for (const name in data) {
    if (names[at] !== name) return false;
    const value = data[name];
    if (types[at] !== (typeof value === "string" ? text : jsonTypeOf(value))) return false; // a third faster: most are texts
    at += 1;
  }
  return at === names.length;
}
