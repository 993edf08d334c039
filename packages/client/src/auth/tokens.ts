import type { Logger } from "@esim-webhooks/core";
import { ApiError } from "../base/api-error.ts";
import type { ClientClock } from "../base/client-clock.ts";
import { fingerprint } from "../base/conceal.ts";
import type { OwnSecrets } from "../base/own-secrets.ts";
import { startTimeout, unlessAborted } from "../base/timeout.ts";
import type { Tokens } from "../http/admission.ts";

/** A token and how long it is valid. */
export interface Token {
  /** Sent as `Authorization: Bearer`. Never logged. */
  readonly accessToken: string;
  /** How long it is valid from now on, in seconds. */
  readonly expiresInSeconds: number;
}

/** Why a token is needed. */
export interface ExchangeRequest {
  /** The token that the service refused, if that is the reason: a shared token that equals it is of no use. */
  readonly refused: string | undefined;
}

/**
 * Gets a token. A client calls it once for all callers that wait, and gives it up after `timeoutMs`. To share one token between processes, keep it in a store:
 * return the kept one, unless it is `refused`, and `askService()` otherwise.
 */
export type TokenExchange = (request: ExchangeRequest, askService: () => Promise<Token>) => Promise<Token>;

export interface TokenParts {
  readonly exchange: TokenExchange;
  readonly askService: () => Promise<Token>;
  /** The longest time for an exchange, in ms. */
  readonly timeoutMs: number;
  readonly clock: ClientClock;
  readonly logger: Logger;
  /** Each token is added to it. */
  readonly secrets: OwnSecrets;
}

/** A token is renewed when a tenth of its life is left, or five minutes if that is less. */
const longestMarginMs = 5 * 60_000;
/** A renewal that failed is tried again when half of the time that was left has passed, and after a second at the earliest. */
const shortestPauseMs = 1000;

/**
 * One token for all callers. While it is valid, no caller waits: the first caller after `renewAt` starts its renewal. Without a valid token,
 * the first caller starts the exchange, and all callers wait for it.
 */
export function createTokens({
  exchange,
  askService,
  timeoutMs,
  clock,
  logger,
  secrets,
}: TokenParts): Tokens {
  let held: { readonly accessToken: string; readonly renewAt: number; readonly endsAt: number } | undefined;
  let refused: string | undefined;
  let pending: Promise<string> | undefined;

  async function renew(): Promise<string> {
    const askedAt = clock.now();
    const { accessToken, expiresInSeconds } = await askInTime();
    secrets.add(accessToken);
    const lifeMs = expiresInSeconds * 1000;
    const renewAt = askedAt + lifeMs - Math.min(longestMarginMs, lifeMs / 10);
    held = { accessToken, renewAt, endsAt: askedAt + lifeMs };
    refused = undefined;
    logger.debug({ token: fingerprint(accessToken), expiresInSeconds }, "The client has a new token.");
    return accessToken;
  }

  async function askInTime(): Promise<Token> {
    const timeout = startTimeout(clock, timeoutMs);
    const ask = async () => checked(await exchange({ refused }, askService));
    try {
      return await unlessAborted(ask(), timeout.signal);
    } catch (error) {
      if (error instanceof ApiError) throw error;
      if (timeout.isOver) throw exchangeHung(timeoutMs, error);
      throw exchangeFailed("the exchange of the token threw", error);
    } finally {
      timeout.clear();
    }
  }

  function renewal(): Promise<string> {
    pending ??= renew().finally(() => {
      pending = undefined;
    });
    return pending;
  }

  function renewMeanwhile(): void {
    if (pending !== undefined) return;
    renewal().catch((err: unknown) => {
      if (held === undefined) return; // refused meanwhile: the callers that wait get the error
      const now = clock.now();
      held = { ...held, renewAt: now + Math.max(shortestPauseMs, (held.endsAt - now) / 2) };
      logger.warn({ err }, "The token could not be renewed; the old one is used while it is valid.");
    });
  }

  return {
    async get() {
      const now = clock.now();
      if (held === undefined || now >= held.endsAt) return renewal();
      if (now >= held.renewAt) renewMeanwhile();
      return held.accessToken;
    },
    refuse(token) {
      if (held?.accessToken !== token) return; // another caller has refused or renewed it
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
    `${problem}.`,
    "An exchange resolves to { accessToken, expiresInSeconds }.",
    { where: "auth.token", ...(cause === undefined ? {} : { cause }) },
  );
}

function exchangeHung(timeoutMs: number, cause: unknown): ApiError {
  return new ApiError(
    "timed_out",
    `the exchange of the token did not end within ${timeoutMs} ms.`,
    "Call again later; an exchange of your own should have a shorter limit.",
    { where: "auth.token", cause },
  );
}
