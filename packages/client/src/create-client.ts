import type { ApiEnvironment } from "@esim-webhooks/core";
import * as z from "zod/mini";
import { askForToken } from "./auth/ask-service.ts";
import { createTokens } from "./auth/tokens.ts";
import { checkRequest } from "./base/check-request.ts";
import { createOwnSecrets } from "./base/own-secrets.ts";
import type { ClientOptions } from "./client-options.ts";
import { parseClientOptions } from "./client-options.ts";
import type { Method } from "./http/operation.ts";
import { type Limiter, limiterOf } from "./limit/limiter.ts";
import { type Account, account } from "./operations/account.ts";
import type { ApiRequest } from "./operations/caller.ts";
import { type ChangeOptions, createCaller } from "./operations/caller.ts";
import { catalog, type EsimCatalog } from "./operations/catalog.ts";
import { type ChangeLifecycle, changeLifecycle, type Esims, esims } from "./operations/esims.ts";
import { watchKeys } from "./operations/key-watch.ts";
import { type Numbers, numbers } from "./operations/numbers.ts";
import { type PortIns, portIns } from "./operations/port-ins.ts";
import { type Webhooks, webhooks } from "./operations/webhooks.ts";

/** The partner API. A call that fails rejects with an `ApiError`. */
export interface ApiClient {
  /** The environment of the API that the client calls. */
  readonly environment: ApiEnvironment;
  /** Endpoints, their secrets and their deliveries. */
  readonly webhooks: Webhooks;
  /** The client that the credentials belong to. */
  readonly client: Account;
  /** The products that can be ordered, and the event types. */
  readonly catalog: EsimCatalog;
  /** Phone numbers of eSIMs. */
  readonly numbers: Numbers;
  /** Porting of numbers into eSIMs. */
  readonly portIns: PortIns;
  /** Orders of eSIMs. */
  readonly esims: Esims;
  /** Suspends, reactivates or terminates an eSIM. */
  readonly lifecycle: ChangeLifecycle;
  /**
   * Makes a call that the client has no function for, with the same token, rate limit, retries and idempotency keys as all other calls.
   * Resolves to the JSON of the answer, unchecked, or to undefined if the answer has none.
   * @param method the HTTP method
   * @param path the path below the base URL with its query, such as `"/esims"`
   * @param body a value that can be written as JSON
   * @param options how the call is made
   */
  request(method: Method, path: string, body?: unknown, options?: ChangeOptions): Promise<unknown>;
  /** The limiter that the calls share, except token exchanges; `limiter.state()` returns how many wait and are in flight. */
  readonly limiter: Limiter;
}

/** The token endpoint has a limit of its own. */
const tokenCallsPerSecond = 30;

const methodArgument: z.ZodMiniType<{ readonly method: Method }> = z.object({
  method: z.enum(["GET", "POST", "PATCH", "DELETE"]),
});

/**
 * Creates a client of the partner API. Nothing is sent before the first call. Throws `invalid_option`.
 */
export function createClient(options: ClientOptions = {}): ApiClient {
  const settings = parseClientOptions(options);
  const { baseUrl, limiter, clock, logger, timeoutMs } = settings;
  const secrets = createOwnSecrets();
  const open = {
    ...settings,
    secrets,
    tokens: undefined,
    limiter: limiterOf({ clock, calls: tokenCallsPerSecond, windowMs: 1000, logger }),
  };
  const tokens = createTokens({
    exchange: settings.exchange,
    askService: () => askForToken(open, baseUrl, settings.credentials(), settings.tokenRequest, timeoutMs),
    timeoutMs,
    clock,
    logger,
    secrets,
  });
  const transport = { ...settings, tokens, secrets };
  const caller = createCaller({ transport, baseUrl, timeoutMs, keys: watchKeys(logger) });
  return {
    environment: settings.environment,
    webhooks: webhooks(caller),
    client: account(caller),
    catalog: catalog(caller),
    numbers: numbers(caller),
    portIns: portIns(caller),
    esims: esims(caller),
    lifecycle: changeLifecycle(caller),
    async request(given, path, body, options) {
      const name = "request";
      const { method } = checkRequest(name, methodArgument, { method: given });
      const request: ApiRequest = { name, method, path, body };
      return caller.call(request, options, (json) => json);
    },
    limiter,
  };
}
