import { type Catalog, type EsimEvents, esimCatalog } from "@esim-webhooks/core";
import { suggest } from "@esim-webhooks/core/kit";
import { type EventToSend, sampleData } from "@esim-webhooks/core/testing";
import { ProgramError } from "../program/program-error.ts";

/** The flags that describe the event. */
export interface EventFlags {
  /** The contents of `--body`: an event's data, or a whole body of type, timestamp and data. */
  readonly body: Buffer | undefined;
  /** The `name=value` pairs of `--data`, which override fields of `body`. */
  readonly fields: readonly string[];
}

/** The event to send: sample data or the `--body`, with the fields of `--data`. Throws `invalid_usage`. */
export function eventToSend(type: string, flags: EventFlags, catalog: Catalog<unknown>): EventToSend {
  const event = flags.body === undefined ? sampleOf(type, catalog) : readBody(type, flags.body);
  for (const field of flags.fields) setField(event.data, field);
  return event;
}

type Data = Record<string, unknown>;
type WithData = EventToSend & { readonly data: Data };

function sampleOf(type: string, catalog: Catalog<unknown>): WithData {
  if ((esimCatalog.types as readonly string[]).includes(type)) {
    return { type, data: sampleData(type as keyof EsimEvents) as unknown as Data };
  }
  const isOwn = (catalog.types as readonly string[]).includes(type);
  throw new ProgramError(
    "invalid_usage",
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
    throw new ProgramError(
      "invalid_usage",
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
    // not JSON: the same error, which must not quote the body
  }
  throw new ProgramError(
    "invalid_usage",
    "--body is not a JSON object.",
    "Give the event's data, for example {}.",
  );
}

/** Sets a field such as `plan.name=value`. The value is JSON if it parses, else text. */
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

/** Defines the property, so that `__proto__` is a name like any other. */
function define(data: Data, name: string, value: unknown): void {
  Object.defineProperty(data, name, { value, enumerable: true, writable: true, configurable: true });
}

function readValue(text: string): unknown {
  const isReference = /^-?\d{16,}$/.test(text); // identifiers are text, and a number would lose some of their digits
  try {
    return isReference ? text : JSON.parse(text);
  } catch {
    return text;
  }
}

function isData(value: unknown): value is Data {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
