import { randomUUID } from "node:crypto";
import {
  DeleteItemCommand,
  DynamoDBClient,
  GetItemCommand,
  type GetItemCommandOutput,
  PutItemCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import type { Claim, DedupeStore, EventKey } from "@esim-webhooks/core";
import {
  createStoreGuard,
  durationMs,
  type OptionsShape,
  parseOptions,
  type StoreOptions,
  spreadRetention,
  storeShape,
  warnOfShortRetention,
  withMethods,
} from "@esim-webhooks/core/engine";
import type { SettingsOf } from "@esim-webhooks/core/internal";
import * as z from "zod/mini";
import { type AwsClient, awsErrorName, checkName } from "../base/aws.ts";
import { noDate, setupError } from "./errors.ts";
import { expression, type Item, itemKey, number, untilValues } from "./items.ts";
import { createServerClock } from "./server-clock.ts";

export interface DynamoStoreOptions extends StoreOptions {
  /** A `DynamoDBClient`, which stays yours to destroy. Default: a new one, with the function's own region and role. */
  client?: AwsClient;
  /** How long an operation may take, in ms, with the retries of the client. Default 5,000. */
  timeoutMs?: number;
}

export interface DynamoStore extends DedupeStore {
  ready(): Promise<void>;
}

const shape: OptionsShape<SettingsOf<DynamoStoreOptions, "client">> = {
  ...storeShape,
  client: z.optional(withMethods<AwsClient>("send")),
  timeoutMs: z._default(durationMs(1), 5000),
};

/** The condition that the item is a live claim of the owner of `:token`. */
const isHeld = "#token = :token AND #done = :false AND #until > :now";
/** How long this process remembers that a lease has ended, for its late owner. */
const rememberedMs = 3_600_000;

/**
 * The dedupe store on DynamoDB: a table whose partition key is the string `id`, with `ttl` as its time-to-live attribute. One item per id;
 * each operation is a conditional write, and a claim of an id that is busy or done also a consistent read.
 *
 * It guarantees what storeSuite tests: one of any number of concurrent claims wins, and a late owner changes nothing. Time is that of DynamoDB, by the
 * `Date` of its responses, so clocks of functions may be wrong. Since that header has whole seconds, a lease that its owner has not ended can
 * last up to two seconds longer than `leaseMs`, and never shorter. Use only one region of a global table: two regions grant the same claim.
 *
 * Throws `invalid_option`. Operations reject with `store_unavailable`; with `unknown_table`, `wrong_table` and `missing_rights` for a mistake
 * in the set-up. The role needs `GetItem`, `PutItem`, `UpdateItem` and `DeleteItem` on the table.
 */
export function dynamoStore(table: string, options: DynamoStoreOptions = {}): DynamoStore {
  const settings = parseOptions("dynamoStore", shape, options);
  const { client, retentionMs, timeoutMs, logger } = settings;
  checkName(table, "dynamoStore", "table name", "Pass the name of the table.");
  warnOfShortRetention("dynamoStore", settings);
  const place = `DynamoDB table ${table}`;
  const dynamo: AwsClient = client ?? new DynamoDBClient({});
  const clock = createServerClock();
  const ends = new Map<string, number>(); // of leases of this process, by its monotonic clock
  const guard = createStoreGuard({
    name: place,
    timeoutMs,
    logger,
    check: (signal) => read({ source: "", id: "" }, signal).then(() => {}),
    explain: (error) => setupError(place, error),
  });

  /** Sends a command, and learns the time from each response: also that of a refusal, or of an attempt that is repeated. */
  async function send<Output>(command: object, abortSignal: AbortSignal): Promise<Output> {
    (command as Observable).middlewareStack.add(
      (next) => async (request) => {
        const sentAt = performance.now();
        const result = await next(request);
        clock.read(result.response.headers?.["date"], sentAt, performance.now());
        return result;
      },
      { step: "deserialize", priority: "low" }, // next to the connection
    );
    const output = (await dynamo.send(command as never, { abortSignal })) as Output;
    if (Number.isNaN(clock.latest())) throw noDate(place);
    return output;
  }

  /** Sends a conditional write. False if its condition is not met. */
  async function write(command: object, signal: AbortSignal): Promise<boolean> {
    try {
      await send(command, signal);
      return true;
    } catch (error) {
      if (awsErrorName(error) === "ConditionalCheckFailedException") return false;
      throw error;
    }
  }

  async function read(key: EventKey, signal: AbortSignal): Promise<Item | undefined> {
    const command = new GetItemCommand({ TableName: table, Key: itemKey(key), ConsistentRead: true });
    return (await send<GetItemCommandOutput>(command, signal)).Item;
  }

  /** The values of `isHeld`. A lease of this process has ended when the process's clock says so; any other lease, when its end in the item has passed. */
  function held(token: string): Item {
    const hasEnded = performance.now() >= (ends.get(token) ?? Number.POSITIVE_INFINITY);
    return {
      ":token": { S: token },
      ":false": { BOOL: false },
      ":now": number(hasEnded ? Number.MAX_SAFE_INTEGER : clock.earliest()),
    };
  }

  /** Writes a lease with `attempt`. False if its condition is not met, or if the lease may end too early, since `clock` was behind the server. */
  async function lease(
    token: string,
    leaseMs: number,
    attempt: (until: number) => Promise<boolean>,
  ): Promise<boolean> {
    const askedAt = performance.now();
    const latest = clock.latest();
    if (!(await attempt(latest + leaseMs))) return false;
    if (clock.latest() - (performance.now() - askedAt) > latest + 1) return false;
    ends.set(token, askedAt + leaseMs);
    return true;
  }

  async function extend(
    key: EventKey,
    token: string,
    leaseMs: number,
    signal: AbortSignal,
  ): Promise<boolean> {
    const attempt = (until: number) => {
      const update = "SET #until = :until, #lease = :lease, #ttl = :ttl";
      const values = { ...held(token), ...untilValues(until), ":lease": number(leaseMs) };
      return write(
        new UpdateItemCommand({ TableName: table, Key: itemKey(key), ...expression(values, isHeld, update) }),
        signal,
      );
    };
    // the second attempt knows the time from the answer to the first
    return (await lease(token, leaseMs, attempt)) || lease(token, leaseMs, attempt);
  }

  async function claim(
    key: EventKey,
    leaseMs: number,
    fingerprint: number | undefined,
    signal: AbortSignal,
  ): Promise<Claim> {
    const token = randomUUID();
    const attempt = (until: number) => {
      const { ":until": end, ":ttl": ttl } = untilValues(until);
      const item = { ...itemKey(key), token: { S: token }, done: { BOOL: false }, until: end, ttl };
      const print = fingerprint !== undefined && { fingerprint: number(fingerprint) };
      const values = { ":now": number(clock.earliest()) };
      return write(
        new PutItemCommand({
          TableName: table,
          Item: { ...item, lease: number(leaseMs), ...print },
          ...expression(values, "attribute_not_exists(#id) OR #until <= :now"),
        }),
        signal,
      );
    };
    for (;;) {
      if (await lease(token, leaseMs, attempt)) return { status: "claimed", token };
      const item = await read(key, signal);
      if (item?.["token"]?.S === token) {
        // written by an attempt whose answer was lost, or with an end that is too early
        if (await extend(key, token, leaseMs, signal)) return { status: "claimed", token };
        continue;
      }
      const leftMs = Number(item?.["until"]?.N) - clock.earliest();
      if (!(leftMs > 0)) continue; // released, or ended meanwhile
      const own = item?.["fingerprint"]?.N;
      const differs = own !== undefined && fingerprint !== undefined && Number(own) !== fingerprint;
      const conflict = differs && { conflict: true as const };
      if (item?.["done"]?.BOOL === true) return { status: "done", ...conflict };
      return { status: "busy", retryAfterMs: Math.min(leftMs, Number(item?.["lease"]?.N)), ...conflict };
    }
  }

  async function complete(key: EventKey, token: string, signal: AbortSignal): Promise<boolean> {
    const update = "SET #done = :true, #until = :until, #ttl = :ttl";
    const condition = "#token = :token AND (#done = :true OR #until > :now)";
    const until = untilValues(clock.latest() + spreadRetention(retentionMs));
    const values = { ...held(token), ":true": { BOOL: true }, ...until };
    return write(
      new UpdateItemCommand({
        TableName: table,
        Key: itemKey(key),
        ...expression(values, condition, update),
      }),
      signal,
    );
  }

  async function release(key: EventKey, token: string, signal: AbortSignal): Promise<boolean> {
    return write(
      new DeleteItemCommand({ TableName: table, Key: itemKey(key), ...expression(held(token), isHeld) }),
      signal,
    );
  }

  function forgetEnds(): void {
    for (const [token, endedAt] of ends) {
      if (endedAt + rememberedMs > performance.now()) return;
      ends.delete(token);
    }
  }

  return {
    capabilities: { durable: true, multiProcess: true, transactional: false, retentionMs },
    place,
    ready: guard.ready,
    claim(key, leaseMs, fingerprint) {
      forgetEnds();
      return guard.run((signal) => claim(key, leaseMs, fingerprint, signal));
    },
    extend: (key, token, leaseMs) => guard.run((signal) => extend(key, token, leaseMs, signal)),
    complete: (key, token) => guard.run((signal) => complete(key, token, signal)),
    release: (key, token) => guard.run((signal) => release(key, token, signal)),
    close: () =>
      guard.close(async () => {
        if (client === undefined) (dynamo as DynamoDBClient).destroy();
      }),
  };
}

/** A command of the SDK, whose responses can be observed. */
interface Observable {
  readonly middlewareStack: {
    add(
      middleware: (next: (request: object) => Promise<Response>) => (request: object) => Promise<Response>,
      options: object,
    ): void;
  };
}
interface Response {
  readonly response: { readonly headers?: Readonly<Record<string, string>> };
}
