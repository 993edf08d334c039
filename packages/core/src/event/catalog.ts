import { isUtf8 } from "node:buffer";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { isDateTime } from "../base/clock.ts";
import { WebhookError } from "../base/errors.ts";
import { suggest } from "../base/options.ts";
import { compressionOf } from "./compression.ts";
import { type DataByType, type EventOf, eventOf, type WebhookEvent } from "./event.ts";

/** A mismatch between an event and the envelope or its schema. Store it, but do not put it into an answer. */
export interface Issue {
  /** The field: names joined by dots, such as `data.esimReference`. Empty: the event as a whole. */
  readonly path: string;
  /** The expectation that was not met. A schema of your own may have put values of the event into it. */
  readonly message: string;
  /** The message is a fixed text of esim-webhooks, which has no values in it: it can be logged. */
  readonly isFixedText?: true;
}

/** Returns an issue as text: its path, and what was expected there. */
export function issueText({ path, message }: Issue): string {
  return path ? `${path}: ${message}` : message;
}

/** An issue for a log, without the message of a user's schema, which may quote values of the event. */
export function withoutValues({ path, message, isFixedText }: Issue): Issue {
  return { path, message: isFixedText ? message : "does not fit the schema" };
}

/**
 * The catalog's verdict: known, unknown type, or invalid.
 * The type of an invalid event is null when the body has none.
 */
export type Parsed<Data = DataByType> =
  | { readonly kind: "known"; readonly type: keyof Data & string; readonly event: EventOf<Data> }
  | { readonly kind: "unknown"; readonly type: string; readonly event: WebhookEvent }
  | {
      readonly kind: "invalid";
      readonly type: string | null;
      readonly event: null;
      readonly issues: readonly Issue[];
    };

/** Event type → schema; decides whether an event is known, unknown or invalid. */
export interface Catalog<Data = DataByType> {
  /** All event types that it has a schema for. */
  readonly types: readonly (keyof Data & string)[];
  /**
   * Bytes → event. Bytes that are not JSON, or not an envelope, are invalid. Throws only if a schema throws, or is asynchronous. `encoding`:
   * the `content-encoding` of the delivery, which the issue may name if the bytes are still compressed.
   */
  parse(id: string, body: Uint8Array, encoding?: string): Parsed<Data>;
  /** Does the same as `parse` for an event that was parsed before, such as one that crossed a queue. */
  check(event: WebhookEvent): Parsed<Data>;
}

/** The data of each event type of a catalog: `DataOf<typeof catalog>`. */
export type DataOf<Given> = Given extends Catalog<infer Data> ? Data : never;

/** Event type → schema of any Standard Schema library. Schemas must validate synchronously. */
export type Schemas = Readonly<Record<string, StandardSchemaV1>>;

/**
 * Makes a catalog of only these event types, for another sender's events. To extend the eSIM catalog, use `defineCatalog`.
 * Throws `invalid_option` for a value that is not a Standard Schema, and for a type with `*`.
 */
export function createCatalog<Data>(schemas: SchemasOf<Data>): Catalog<Data> {
  return catalogOf(schemas, new Set());
}

/** A schema for each event type. Any library that implements Standard Schema makes them, such as zod. */
export type SchemasOf<Data> = { readonly [Type in keyof Data]: StandardSchemaV1<unknown, Data[Type]> };

/** Makes a catalog as `createCatalog` does. `fixed` has the schemas whose messages are fixed texts. */
export function catalogOf<Data>(schemas: SchemasOf<Data>, fixed: ReadonlySet<unknown>): Catalog<Data> {
  const byType = new Map<string, StandardSchemaV1>(Object.entries(schemas));
  for (const [type, schema] of byType) {
    if (type.includes("*")) {
      throw new WebhookError(
        "invalid_option",
        `The catalog's "${type}" is a pattern.`,
        "Name each event type; handlers may take families of them.",
      );
    }
    if (typeof schema?.["~standard"]?.validate === "function") continue;
    throw new WebhookError(
      "invalid_option",
      `The catalog's "${type}" is not a Standard Schema.`,
      "Give it a schema of zod, valibot, arktype or any other Standard Schema library.",
    );
  }

  function check(given: WebhookEvent): Parsed<Data> {
    const issues = eventIssues(given ?? {});
    if (issues.length > 0) return invalidEvent(hasType(given) ? given.type : null, issues);
    const { id, type, timestamp, data, extra } = given;
    const kept = extra === undefined ? {} : { extra };
    const schema = byType.get(type);
    if (schema === undefined) return { kind: "unknown", type, event: { id, type, timestamp, data, ...kept } };
    const result = schema["~standard"].validate(data);
    if (result instanceof Promise) {
      throw new WebhookError(
        "async_schema",
        `The schema of "${type}" validates asynchronously.`,
        "Keep schemas synchronous; look things up in the handler.",
      );
    }
    if (result.issues) {
      const issues = result.issues.map((issue) =>
        fixed.has(schema)
          ? { ...readIssue(issue, data), isFixedText: true as const }
          : readIssue(issue, data),
      );
      return Object.assign(new Sent(data), invalidEvent(type, issues));
    }
    const event = { id, type, timestamp, data: result.value, ...kept } as EventOf<Data>;
    return new Known(event, data);
  }

  function parse(id: string, body: Uint8Array, encoding?: string): Parsed<Data> {
    const decoded = decode(body, encoding);
    if ("issue" in decoded) return invalidEvent(null, [fixedIssue("", decoded.issue)]);
    return check(eventOf(id, isObject(decoded.json) ? decoded.json : {}));
  }

  return {
    types: [...byType.keys()] as (keyof Data & string)[],
    parse,
    check,
  };
}

/** Keeps the data as it was sent, in a private field that neither JSON nor a comparison shows: an invalid event must show none of its values. */
class Sent {
  readonly #data: unknown;

  constructor(data: unknown) {
    this.#data = data;
  }

  static dataOf(parsed: object): unknown {
    return #data in parsed ? parsed.#data : undefined;
  }
}

class Known<Data> extends Sent {
  readonly kind = "known";
  readonly type: keyof Data & string;
  readonly event: EventOf<Data>;

  constructor(event: EventOf<Data>, data: unknown) {
    super(data);
    this.type = event.type;
    this.event = event;
  }
}

/** The data of an event as it was sent, before its schema changed it. Undefined if it is not an envelope. */
export function sentData(parsed: { readonly event: { readonly data: unknown } | null }): unknown {
  return Sent.dataOf(parsed) ?? parsed.event?.data;
}

function invalidEvent(type: string | null, issues: readonly Issue[]): Extract<Parsed, { kind: "invalid" }> {
  return { kind: "invalid", type, event: null, issues };
}

function decode(body: Uint8Array, encoding?: string): { json: unknown } | { issue: string } {
  if (!isUtf8(body)) {
    const format = compressionOf(body, encoding);
    return {
      issue: format ? `the body is ${format} data: it was signed after compression` : "the body is not UTF-8",
    };
  }
  const text = (Buffer.isBuffer(body) ? body : Buffer.from(body)).toString("utf8");
  try {
    return { json: JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text) };
  } catch {
    return { issue: "the body is not JSON" }; // the parser's own message quotes the body
  }
}

/** An event of which nothing is known, such as one from a queue. */
type Unchecked = { readonly [field in keyof WebhookEvent]?: unknown };

function fixedIssue(path: string, message: string): Issue {
  return { path, message, isFixedText: true };
}

function eventIssues({ id, type, timestamp, data, extra }: Unchecked): Issue[] {
  const issues: Issue[] = [];
  if (typeof id !== "string" || id === "") issues.push(fixedIssue("id", "expected a string"));
  if (!hasType({ type })) issues.push(fixedIssue("type", "expected a string"));
  if (typeof timestamp !== "string" || !isDateTime(timestamp)) {
    issues.push(fixedIssue("timestamp", "expected a date-time with its offset (RFC 3339)"));
  }
  if (!isObject(data)) issues.push(fixedIssue("data", "expected an object"));
  if (extra !== undefined && !isObject(extra)) issues.push(fixedIssue("extra", "expected an object"));
  return issues;
}

function hasType(given: Unchecked | null | undefined): given is { readonly type: string } {
  return typeof given?.type === "string" && given.type !== "";
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The part of a message in which valibot, arktype and zod quote the value that they found. */
const found = /[:,]?( but)? received (".*"|\S+)$| \(was .*\)$/is;

/** Reads the path and the rule of a schema's issue. Leaves out the value, which the messages of some libraries quote. */
function readIssue({ path = [], message }: StandardSchemaV1.Issue, data: unknown): Issue {
  const keys = path.map((part) => (typeof part === "object" ? part.key : part));
  let value = data;
  for (const key of keys) value = (value as Record<PropertyKey, unknown> | null | undefined)?.[key];
  const rule = message.replace(found, "");
  const text = typeof value === "string" || typeof value === "number" ? String(value) : "";
  const isQuoted = text.length > 2 && rule.includes(text);
  return {
    path: ["data", ...keys.map(String)].join("."),
    message: isQuoted ? "does not fit the schema" : rule,
  };
}

/** Throws `unknown_event_type` for an option that names a type which the catalog does not have. */
export function checkTypes(
  where: string,
  option: string,
  named: readonly string[],
  { types }: { readonly types: readonly string[] },
): void {
  const unknown = named.find((type) => !types.includes(type));
  if (unknown === undefined) return;
  throw new WebhookError(
    "unknown_event_type",
    `${option} names "${unknown}", which is not in the catalog.`,
    `${suggest(unknown, types)} Name exact types: families and "*" do not work here.`,
    { where, option },
  );
}
