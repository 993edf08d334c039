import {
  type Catalog,
  createKeyring,
  type Issue,
  type Keyring,
  type Logger,
  type Parsed,
  type Refusal,
  type Secrets,
  type ToleranceSeconds,
  verify,
  WebhookError,
} from "@esim-webhooks/core";
import { eventOf } from "@esim-webhooks/core/internal";
import type { ImportErrorCode } from "../dump/errors.ts";
import { createRecordReader, type Mapping, type RecordReader } from "./record-reader.ts";
import { isRoundedNumber, type ReceivedRequest, type RecordedEvent } from "./recorded-event.ts";

/** The checks of a record, in their order. */
export interface Checks {
  readonly readRecord: RecordReader;
  readonly passes: (event: RecordedEvent) => boolean;
  readonly verifyOrTrust: TrustCheck;
}

export interface CheckSettings extends ImportFilter, TrustSettings {
  readonly mapping?: Mapping | undefined;
  readonly maxDepth: number;
}

export function createChecks(settings: CheckSettings): Checks {
  return {
    readRecord: createRecordReader(settings.mapping, settings.maxDepth),
    passes: createFilter(settings),
    verifyOrTrust: createTrustCheck(settings),
  };
}

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

type Test = (event: RecordedEvent) => boolean;

function createFilter(filter: ImportFilter): Test {
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

function oneOf(values: readonly string[], field: (event: RecordedEvent) => unknown): Test {
  const wanted = new Set<unknown>(values);
  return (event) => wanted.has(field(event));
}

function typeTest(types: readonly string[]): Test {
  const exact = new Set(types);
  const families = types.filter((type) => type.endsWith("*")).map((type) => type.slice(0, -1));
  return ({ type }) =>
    type !== null && (exact.has(type) || families.some((family) => type.startsWith(family)));
}

function esimReferenceOf({ payload: { data } }: RecordedEvent): unknown {
  return (data as { readonly esimReference?: unknown } | null | undefined)?.esimReference;
}

export interface TrustSettings {
  readonly secret?: Secrets | undefined;
  readonly toleranceSeconds: ToleranceSeconds;
  readonly trustUnsigned: boolean;
  /** False: an unsigned record whose id a spreadsheet may have rounded is refused. Absent for records that are not from a file: they were in no spreadsheet. */
  readonly acceptRoundedIds?: boolean;
}

/**
 * Verifies the signature of a captured request, with the keys that were valid when it was received. Without a signature:
 * throws `unsigned_dump` unless the operator trusts unsigned records, may refuse a rounded id, and otherwise returns the captured
 * bytes, or null if the body must be rebuilt. With a signature, the returned id is the signed one.
 */
export type TrustCheck = (event: RecordedEvent) => Trusted | Refusal | RoundedId | null;

interface RoundedId {
  readonly code: "rounded_id";
  readonly reason: string;
}

const roundedId: RoundedId = {
  code: "rounded_id",
  reason:
    "its id is a number that a spreadsheet has rounded, such as 1.23E+17, so other events may have the same text: export the column as text, or accept such ids with acceptRoundedIds (--accept-rounded-ids)",
};

interface Trusted {
  readonly id: string;
  readonly body: Uint8Array;
}

function createTrustCheck({
  secret,
  toleranceSeconds,
  trustUnsigned,
  acceptRoundedIds = true,
}: TrustSettings): TrustCheck {
  let keyring: Keyring | undefined;
  return ({ id, request }) => {
    if (request?.isSigned) {
      keyring ??= createKeyring(secret); // most dumps need no key
      return verifyRequest(request, keyring, toleranceSeconds);
    }
    if (!trustUnsigned) throw unsigned();
    if (!acceptRoundedIds && isRoundedNumber(id)) return roundedId;
    return request !== null && !request.isGuess ? { id, body: request.bodies[0] } : null;
  };
}

function verifyRequest(
  { headers, bodies, isGuess, receivedAt }: ReceivedRequest,
  keyring: Keyring,
  toleranceSeconds: ToleranceSeconds,
): Trusted | Refusal {
  let refusal: Refusal = { ok: false, code: "no_matching_key", reason: "it has no body" };
  for (const body of bodies) {
    const proof = verify({ headers, body }, keyring, { at: receivedAt, toleranceSeconds });
    if (proof.ok) return { id: proof.id, body };
    if (proof.code !== "no_matching_key") return proof; // another body would not change that
    refusal = proof;
  }
  if (!isGuess) return refusal;
  return {
    ...refusal,
    reason: "no key matches its signature; its body was captured as an object, so its bytes are a guess",
  };
}

function unsigned(): WebhookError<ImportErrorCode> {
  return new WebhookError<ImportErrorCode>(
    "unsigned_dump",
    "The dump has records without a signature, as in the deliveries listing: nothing proves who wrote them.",
    "If you trust the origin of the dump, set { trustUnsigned: true }.",
    { option: "trustUnsigned" },
  );
}

/** The catalog's verdict on an event. `threw`: its schema threw, so no handler can run; the event can be tried again. */
export type ReadEvent =
  | Parsed<Record<string, unknown>>
  | { readonly kind: "threw"; readonly type: string | null; readonly event: null };

/**
 * Checks dumped events against the catalog. An event whose schema throws is `threw`, and the import continues.
 * Throws `async_schema` for a schema that is asynchronous.
 */
export function createEventReader(
  catalog: Catalog<unknown>,
  logger: Logger,
): (event: RecordedEvent) => ReadEvent {
  return (event) => {
    try {
      return catalog.check(eventOf(event.id, event.payload)) as Parsed<Record<string, unknown>>;
    } catch (err) {
      if (WebhookError.is(err)) throw err;
      const { id, type } = event;
      logger.error({ err, id, type }, "The schema of the event threw.");
      return { kind: "threw", type, event: null };
    }
  };
}

/** The paths of the issues, without the schema's messages: they may quote personal data. */
export function describePaths(issues: readonly Issue[]): string {
  const paths = issues.map(({ path }) => path || "the event").slice(0, 10);
  return `it does not match its schema, at ${paths.join(", ")}`;
}
