import { randomUUID } from "node:crypto";
import * as z from "zod/mini";
import { checkRequest, invalidRequest, requestSchema } from "../base/check-request.ts";
import type { Method, Operation } from "../http/operation.ts";
import { perform, type Transport } from "../http/perform.ts";
import { readAnswer } from "../http/read-answer.ts";
import type { Priority } from "../limit/waiting-line.ts";
import type { KeyWatch } from "./key-watch.ts";
import { pathUrl } from "./path.ts";

/** How one call is made. */
export interface CallOptions {
  /** Gives the call up when it aborts, such as the `signal` of a handler's context. */
  readonly signal?: AbortSignal | undefined;
  /** The longest time for the call with all its attempts and waits, in ms. Default: that of the client. */
  readonly timeoutMs?: number | undefined;
  /** Its priority when several calls wait for the rate limit. Default: high for changes, low for lists, else normal. */
  readonly priority?: Priority | undefined;
}

/** How a call that changes something is made. */
export interface ChangeOptions extends CallOptions {
  /**
   * Marks the operation: the service does it only once, even if the call is repeated with this key and the same body within 48 hours. Use
   * another key for another operation: the service would answer with the result of the first one. 1 to 255 printable ASCII characters. Default: a
   * random UUID for each call.
   */
  readonly idempotencyKey?: string | undefined;
}

/** A call as an operation describes it. */
export interface ApiRequest {
  readonly name: string;
  readonly method: Method;
  /** The path after the base URL, encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
  readonly priority?: Priority;
}

/** Makes calls of one client. */
export interface Caller {
  /** Sends, and reads the answer. Rejects with an `ApiError`. */
  call<T>(request: ApiRequest, options: ChangeOptions | undefined, read: (json: unknown) => T): Promise<T>;
}

export interface CallerParts {
  readonly transport: Transport;
  readonly baseUrl: string;
  readonly timeoutMs: number;
  readonly keys: KeyWatch;
}

const optional = {
  signal: z.optional(z.instanceof(AbortSignal, { error: "expected an AbortSignal" })),
  timeoutMs: z.optional(z.int().check(z.gte(1))),
  priority: z.optional(z.enum(["high", "normal", "low"])),
};
const callOptions = requestSchema<CallOptions>(optional);
const keyPattern = /^[!-~](?:[ -~]{0,253}[!-~])?$/;
const changeOptions = requestSchema<ChangeOptions>({
  ...optional,
  idempotencyKey: z.optional(
    z.string().check(z.regex(keyPattern, "expected 1 to 255 printable ASCII characters")),
  ),
});

export function createCaller({ transport, baseUrl, timeoutMs, keys }: CallerParts): Caller {
  return {
    async call(request, options = {}, read) {
      const { name, method } = request;
      const takesKey = method === "POST" || method === "PATCH";
      const given: ChangeOptions = checkRequest(
        `${name}: options`,
        takesKey ? changeOptions : callOptions,
        options,
      );
      const operation: Operation = {
        name,
        method,
        url: pathUrl(name, baseUrl, request.path, request.query),
        idempotencyKey: takesKey ? (given.idempotencyKey ?? randomUUID()) : undefined,
        isHarmless: method === "GET",
        isConfidential: false,
        priority: given.priority ?? request.priority ?? (method === "GET" ? "normal" : "high"),
        ...encode(request),
      };
      if (given.idempotencyKey !== undefined) keys.use(given.idempotencyKey, operation);
      const bounds = { timeoutMs: given.timeoutMs ?? timeoutMs, signal: given.signal };
      const { answer, run } = await perform(transport, withKey(operation), bounds);
      return readAnswer(operation, run, answer, read);
    },
  };
}

/** Writes the body as JSON once: every attempt sends the same bytes, even if the object changes. */
function encode({ name, method, body }: ApiRequest): Pick<Operation, "body" | "headers"> {
  const accept = "application/json, application/problem+json";
  if (body === undefined) return { body: undefined, headers: { accept } };
  if (method === "GET" || method === "DELETE")
    throw invalidRequest(
      name,
      `a ${method} has no body`,
      "Leave it out, or pass its fields in the query of the path.",
    );
  return { body: jsonOf(name, body), headers: { accept, "content-type": "application/json" } };
}

function jsonOf(name: string, body: unknown): string {
  try {
    const json: string | undefined = JSON.stringify(body);
    if (json !== undefined) return json; // undefined for a function
  } catch {}
  throw invalidRequest(
    name,
    "the body cannot be written as JSON",
    "Pass plain values, without functions, circles and BigInts.",
  );
}

function withKey(operation: Operation): Operation {
  const { idempotencyKey, headers } = operation;
  if (idempotencyKey === undefined) return operation;
  return { ...operation, headers: { ...headers, "x-idempotency-key": idempotencyKey } };
}
