import type { Logger } from "@esim-webhooks/core";
import { ApiError } from "../base/api-error.ts";
import type { ClientClock } from "../base/client-clock.ts";
import { fingerprint } from "../base/conceal.ts";
import type { Tokens } from "../http/perform.ts";

/** A token and how long it is valid. */
export interface Token {
  readonly accessToken: string;
  /** From now, in seconds. */
  readonly expiresInSeconds: number;
}

export interface ExchangeRequest {
  /** The token that the service refused, if that is the reason: a shared token that equals it is of no use. */
  readonly refused: string | undefined;
}

/**
 * Gets a token. A client calls it once for all callers that wait. To share one token between processes, keep it in a store:
 * return the kept one, unless it is `refused`, and `askService()` otherwise.
 */
export type TokenExchange = (request: ExchangeRequest, askService: () => Promise<Token>) => Promise<Token>;

export interface TokenParts {
  readonly exchange: TokenExchange;
  readonly askService: () => Promise<Token>;
  readonly clock: ClientClock;
  readonly logger: Logger;
}

/** A token is renewed when a tenth of its life is left, or five minutes if that is less. */
const longestMarginMs = 5 * 60_000;

/** One token for all callers: the first one that needs another starts the exchange, and the others wait for it. */
export function createTokens({ exchange, askService, clock, logger }: TokenParts): Tokens {
  let held: { readonly accessToken: string; readonly renewAt: number; readonly endsAt: number } | undefined;
  let refused: string | undefined;
  let pending: Promise<string> | undefined;

  async function renew(): Promise<string> {
    const askedAt = clock.now();
    try {
      const { accessToken, expiresInSeconds } = checked(await exchange({ refused }, askService));
      const lifeMs = expiresInSeconds * 1000;
      const renewAt = askedAt + lifeMs - Math.min(longestMarginMs, lifeMs / 10);
      held = { accessToken, renewAt, endsAt: askedAt + lifeMs };
      logger.debug({ token: fingerprint(accessToken), expiresInSeconds }, "The client has a new token.");
      return accessToken;
    } catch (error) {
      const failure =
        error instanceof ApiError ? error : exchangeFailed("the exchange of the token threw", error);
      if (held === undefined || clock.now() >= held.endsAt) throw failure;
      logger.warn({ err: failure }, "The token could not be renewed; the old one is used while it is valid.");
      return held.accessToken;
    } finally {
      pending = undefined;
    }
  }

  return {
    async get() {
      if (held !== undefined && clock.now() < held.renewAt) return held.accessToken;
      pending ??= renew();
      return pending;
    },
    refuse(token) {
      if (held?.accessToken !== token) return; // another caller has renewed it
      refused = token;
      held = undefined;
    },
  };
}

function checked(token: Token): Token {
  const { accessToken, expiresInSeconds } = (token ?? {}) as Partial<Token>;
  if (typeof accessToken === "string" && /^[!-~]+$/.test(accessToken) && Number(expiresInSeconds) > 0)
    return token;
  throw exchangeFailed("the exchange returned no token, or one without a lifetime");
}

function exchangeFailed(problem: string, cause?: unknown): ApiError {
  return new ApiError(
    "exchange_failed",
    `auth.token: ${problem}.`,
    "An exchange resolves to { accessToken, expiresInSeconds }.",
    cause === undefined ? {} : { cause },
  );
}
