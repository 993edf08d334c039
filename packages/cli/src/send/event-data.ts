import { type Catalog, type EsimEvents, esimCatalog } from "@esim-webhooks/core";
import { suggest } from "@esim-webhooks/core/internal";
import { type EventToSend, sampleData } from "@esim-webhooks/core/testing";
import { invalidUsage } from "../program/program-error.ts";

/** The flags that describe the event. */
export interface EventFlags {
  /** The contents of `--body`: an event's data, or a whole body of type, timestamp and data. */
  readonly body: Buffer | undefined;
  /** The `name=value` pairs of `--data`, which override fields of `body`. */
  readonly fields: readonly string[];
}

/** The event to send: sample data or the `--body`, with the fields of `--data`. Throws `invalid_usage`. */
export function eventToSend(
  type: string,
  { body, fields }: EventFlags,
  catalog: Catalog<unknown>,
): EventToSend {
  const sample = sampleOf(type);
  const event =
    body === undefined ? { type, data: sampleOf(type) ?? noSample(type, catalog) } : readBody(type, body);
  for (const field of fields) setField(event.data, readField(field), sample);
  return event;
}

/** Remarks on fields of `--data` that the sample of the type does not have. */
export function unknownFieldNotes(type: string, { fields }: EventFlags): readonly string[] {
  const sample = sampleOf(type);
  if (sample === undefined) return [];
  return fields
    .map((field) => readField(field).names[0] ?? "")
    .filter((name) => !Object.hasOwn(sample, name))
    .map(
      (name) =>
        `${type} has no field "${name}", and it is sent all the same. ${suggest(name, Object.keys(sample))}`,
    );
}

type Data = Record<string, unknown>;
type WithData = EventToSend & { readonly data: Data };

/** A new sample of a type of the eSIM catalog. */
function sampleOf(type: string): Data | undefined {
  const isKnown = (esimCatalog.types as readonly string[]).includes(type);
  return isKnown ? (sampleData(type as keyof EsimEvents) as unknown as Data) : undefined;
}

function noSample(type: string, catalog: Catalog<unknown>): never {
  const isOwn = (catalog.types as readonly string[]).includes(type);
  throw invalidUsage(
    `There is no sample of "${type}".`,
    isOwn
      ? "Give its data with --body file."
      : `${suggest(type, esimCatalog.types)} For any other type, give its data with --body file.`,
  );
}

function readBody(type: string, bytes: Buffer): WithData {
  const json = parse(bytes);
  if (!("type" in json && "timestamp" in json && isData(json["data"]))) return { type, data: json };
  if (json["type"] !== type) {
    throw invalidUsage(
      `The event in --body does not have the type "${type}".`,
      "Send it with its own type, or give only its data.",
    );
  }
  return { type, timestamp: String(json["timestamp"]), data: json["data"] };
}

function parse(bytes: Buffer): Data {
  try {
    const json: unknown = JSON.parse(bytes.toString("utf8"));
    if (isData(json)) return json;
  } catch {
    // not JSON: the error below, since the parser's own quotes the body
  }
  throw invalidUsage("--body is not a JSON object.", "Give the event's data, for example {}.");
}

interface Field {
  /** `plan` and `name` of `plan.name=value`. */
  readonly names: readonly string[];
  readonly text: string;
}

function readField(field: string): Field {
  const [, path = "", text = ""] = /^([^=]+)=(.*)$/s.exec(field) ?? [];
  if (path !== "") return { names: path.split("."), text };
  throw invalidUsage(`--data ${field} sets nothing.`, "Write --data name=value.");
}

/** Sets a field. Its value is JSON if it parses, else text. A number, true or false is text where the sample's field is text. */
function setField(data: Data, { names, text }: Field, sample: Data | undefined): void {
  const [first = "", ...inside] = names;
  const isText = inside.length === 0 && typeof sample?.[first] === "string";
  const last = names.at(-1) ?? "";
  let at = data;
  for (const name of names.slice(0, -1)) {
    const next = Object.hasOwn(at, name) ? at[name] : undefined;
    const inner: Data = isData(next) ? next : {};
    define(at, name, inner);
    at = inner;
  }
  const value = readValue(text);
  define(at, last, isText && ["number", "boolean"].includes(typeof value) ? text : value);
}

/** Defines the property, so that `__proto__` is a name like any other. */
function define(data: Data, name: string, value: unknown): void {
  Object.defineProperty(data, name, { value, enumerable: true, writable: true, configurable: true });
}

function readValue(text: string): unknown {
  if (/^-?\d{16,}$/.test(text)) return text; // identifiers are text, and a number would lose some of their digits
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function isData(value: unknown): value is Data {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
