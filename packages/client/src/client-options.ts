import { type ApiEnvironment, type Logger, WebhookError } from "@esim-webhooks/core";
import { durationMs, type OptionsShape, parseOptions, withMethods } from "@esim-webhooks/core/engine";
import { loggerOption, namedEnvironment, silentLogger, variableIn } from "@esim-webhooks/core/internal";
import * as z from "zod/mini";
import type { Credentials, TokenRequest } from "./auth/ask-service.ts";
import type { TokenExchange } from "./auth/tokens.ts";
import { type ClientClock, realClock } from "./base/client-clock.ts";
import type { Fetch } from "./http/attempt.ts";
import { type Limiter, limiterOf } from "./limit/limiter.ts";

/** Options of `createClient`. The address and the credentials come from environment variables by default. */
export interface ClientOptions {
  /**
   * The environment of the API. With `"test"`, the next three options default to `ESIM_TEST_API_URL`, `ESIM_TEST_CLIENT_ID` and
   * `ESIM_TEST_CLIENT_SECRET`, and never to a variable of production. Default: `ESIM_ENVIRONMENT`, else `"production"`.
   */
  readonly environment?: ApiEnvironment | undefined;
  /** The address of the API, which ends in `/api/v3`. Default: `ESIM_API_URL`. */
  readonly baseUrl?: string | undefined;
  /** The client id. Default: `ESIM_CLIENT_ID`. */
  readonly clientId?: string | undefined;
  /** The client secret. Default: `ESIM_CLIENT_SECRET`. */
  readonly clientSecret?: string | undefined;
  /** The longest time for a call with all its attempts and waits, in ms. Default 120,000. */
  readonly timeoutMs?: number | undefined;
  /** The longest time for one attempt, in ms. Default 30,000. */
  readonly attemptTimeoutMs?: number | undefined;
  /** How many times a call is sent at most. Default 6. */
  readonly maxAttempts?: number | undefined;
  /** Decides when a call may be sent, such as a `createLimiter` that several clients share. Default: 10 calls a second. */
  readonly limiter?: Limiter | undefined;
  /** Gets the token, to share one between processes. Default: the client's credentials are exchanged for one. */
  readonly exchange?: TokenExchange | undefined;
  /** How the token endpoint is asked: `"form"` or `"json"`. Default: `"form"`. */
  readonly tokenRequest?: TokenRequest | undefined;
  /** Sends the requests. Default: the platform's `fetch`. */
  readonly fetch?: Fetch | undefined;
  /** Gets the log lines: `consoleLogger()`, pino, or anything of their shape. Default: silent. */
  readonly logger?: Logger | undefined;
  /** Returns the time and waits, for tests. Default: a monotonic clock and timers. */
  readonly clock?: ClientClock | undefined;
}

/** `ClientOptions` after parsing. */
export interface ClientSettings {
  readonly environment: ApiEnvironment;
  readonly baseUrl: string;
  /** Returns the credentials. Throws when there are none, which is no mistake if an `exchange` option never asks for them. */
  readonly credentials: () => Credentials;
  readonly timeoutMs: number;
  readonly attemptTimeoutMs: number;
  readonly maxAttempts: number;
  readonly limiter: Limiter;
  readonly exchange: TokenExchange;
  readonly tokenRequest: TokenRequest;
  readonly fetch: Fetch;
  readonly logger: Logger;
  readonly clock: ClientClock;
}

const text = z.optional(z.string().check(z.minLength(1)));
const aFunction = <T>() =>
  z.optional(z.custom<T>((value) => typeof value === "function", "expected a function"));

/** The options without a default in the shape: their default is in the environment, or is made below. */
type Given = Pick<
  ClientOptions,
  "environment" | "baseUrl" | "clientId" | "clientSecret" | "limiter" | "exchange" | "fetch"
>;

type Parsed = Given & Pick<ClientSettings, Exclude<keyof ClientSettings, keyof Given | "credentials">>;

export const clientShape: OptionsShape<Parsed> = {
  environment: z.optional(z.enum(["production", "test"])),
  baseUrl: text,
  clientId: text,
  clientSecret: text,
  timeoutMs: z._default(durationMs(1), 120_000),
  attemptTimeoutMs: z._default(durationMs(1), 30_000),
  maxAttempts: z._default(z.int().check(z.gte(1)), 6),
  limiter: z.optional(withMethods<Limiter>("take", "state")),
  exchange: aFunction<TokenExchange>(),
  tokenRequest: z._default(z.enum(["form", "json"]), "form"),
  fetch: aFunction<Fetch>(),
  logger: z._default(loggerOption, silentLogger),
  clock: z._default(withMethods<ClientClock>("now", "wait"), realClock),
};

const callsPerSecond = 10;

export function parseClientOptions(options: unknown): ClientSettings {
  const given = parseOptions<Parsed>("createClient", clientShape, options);
  const { clock, exchange, limiter, logger, fetch = globalThis.fetch } = given;
  const environment = given.environment ?? namedEnvironment() ?? "production";
  const from = (option: string, variable: string) => variableOf(option, variableIn(environment, variable));
  const credentials = () => ({
    clientId: given.clientId ?? from("clientId", "ESIM_CLIENT_ID"),
    clientSecret: given.clientSecret ?? from("clientSecret", "ESIM_CLIENT_SECRET"),
  });
  if (exchange === undefined) credentials();
  return {
    ...given,
    environment,
    baseUrl: checkBaseUrl(given.baseUrl ?? from("baseUrl", "ESIM_API_URL")),
    credentials,
    limiter: limiter ?? limiterOf({ clock, calls: callsPerSecond, windowMs: 1000, logger }),
    exchange: exchange ?? ((_request, askService) => askService()),
    fetch: (url, init) => fetch(url, init), // called without a `this`, never as a method of the settings
    logger,
  };
}

function variableOf(option: string, variable: string): string {
  const value = process.env[variable]?.trim();
  if (value) return value;
  throw invalidClientOption(option, `there is no ${option}`, `Pass ${option}, or set ${variable}.`);
}

/** The URL without a slash at its end. Secrets and tokens go there, so it must be https, or this machine. */
function checkBaseUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null) throw invalidBaseUrl("is not a URL", "It begins with https:// and ends in /api/v3.");
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    throw invalidBaseUrl("has a user, a query or a fragment", "It is only the address, up to /api/v3.");
  }
  const isLocal = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isLocal)) {
    throw invalidBaseUrl(
      `begins with ${url.protocol}//`,
      "Use https://. Only this machine may be called without TLS.",
    );
  }
  return url.href.replace(/\/+$/, "");
}

function invalidBaseUrl(problem: string, remedy: string): WebhookError {
  return invalidClientOption("baseUrl", `the base URL ${problem}`, remedy);
}

function invalidClientOption(option: string, problem: string, remedy: string): WebhookError {
  return new WebhookError("invalid_option", `${problem}.`, remedy, { where: "createClient", option });
}
