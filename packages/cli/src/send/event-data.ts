import { type Catalog, type EsimEvents, esimCatalog } from "@esim-webhooks/core";
import { type EventToSend, sampleData } from "@esim-webhooks/core/testing";
import { ProgramError } from "../program/program-error.ts";

/** What is to be sent, as far as the command line says. */
export interface Given {
  /** What `--body` holds: an event's data, or a whole body of type, timestamp and data. */
  readonly body: Buffer | undefined;
  /** `name=value`, which count before it. */
  readonly fields: readonly string[];
}

/** The event of a type: made up, or from a file, with fields of its data set. Throws `invalid_usage`. */
export function eventToSend(type: string, given: Given, catalog: Catalog<unknown>): EventToSend {
  const event = given.body === undefined ? sampleOf(type, catalog) : readBody(type, given.body);
  for (const field of given.fields) setField(event.data, field);
  return event;
}

type Data = Record<string, unknown>;
type WithData = EventToSend & { readonly data: Data };

function sampleOf(type: string, catalog: Catalog<unknown>): WithData {
  const isOwn = (catalog.types as readonly string[]).includes(type);
  if (!isOwn || (esimCatalog.types as readonly string[]).includes(type)) {
    return { type, data: sampleData(type as keyof EsimEvents) as unknown as Data }; // says what is near, if there is none
  }
  throw new ProgramError("invalid_usage", `There is no sample of "${type}".`, "Give its data by --body.");
}

function readBody(type: string, bytes: Buffer): WithData {
  const json = parse(bytes);
  if (!("type" in json && "timestamp" in json && isData(json["data"]))) return { type, data: json };
  if (json["type"] !== type) {
    throw new ProgramError(
      "invalid_usage",
      `The --body is of an event of another type than "${type}".`,
      "Name its own type, or give its data alone.",
    );
  }
  return { type, timestamp: String(json["timestamp"]), data: json["data"] };
}

function parse(bytes: Buffer): Data {
  try {
    const json: unknown = JSON.parse(bytes.toString("utf8"));
    if (isData(json)) return json;
  } catch {
    // not JSON at all: told the same way, without quoting it
  }
  throw new ProgramError(
    "invalid_usage",
    "The --body is no JSON object.",
    "Give the event's data, such as {}.",
  );
}

/** Sets `plan.name=value`; a value is JSON where it parses as such, else text. */
function setField(data: Data, field: string): void {
  const [, path = "", text = ""] = /^([^=]+)=(.*)$/s.exec(field) ?? [];
  if (path === "") {
    throw new ProgramError("invalid_usage", `--data ${field} sets nothing.`, "Write --data name=value.");
  }
  const names = path.split(".");
  const last = names.pop() ?? "";
  let at = data;
  for (const name of names) {
    const next = Object.hasOwn(at, name) ? at[name] : undefined;
    const inner: Data = isData(next) ? next : {};
    define(at, name, inner);
    at = inner;
  }
  define(at, last, readValue(text));
}

/** `__proto__` is a name like any other. */
function define(data: Data, name: string, value: unknown): void {
  Object.defineProperty(data, name, { value, enumerable: true, writable: true, configurable: true });
}

function readValue(text: string): unknown {
  const isReference = /^-?\d{16,}$/.test(text); // identifiers are text, and have more digits than a number keeps
  try {
    return isReference ? text : JSON.parse(text);
  } catch {
    return text;
  }
}

function isData(value: unknown): value is Data {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
