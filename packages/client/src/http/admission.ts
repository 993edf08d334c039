import { ApiError } from "../base/api-error.ts";
import type { ClientClock } from "../base/client-clock.ts";
import { unlessAborted } from "../base/timeout.ts";
import type { Limiter, Slot } from "../limit/limiter.ts";
import type { Run } from "./error-of.ts";
import type { Operation } from "./operation.ts";

/** Where the token of a call comes from. */
export interface Tokens {
  /** A token that is valid now. Rejects with an `ApiError`. */
  get(): Promise<string>;
  /** Discards a token that the service refused. */
  refuse(token: string): void;
}

/** The limiter and the tokens, which decide when a call is sent and with which token. */
export interface Gate {
  readonly clock: ClientClock;
  readonly limiter: Limiter;
  /** Undefined for calls without a token. */
  readonly tokens: Tokens | undefined;
}

/** A call that may be sent now. */
export interface Admission {
  readonly slot: Slot;
  readonly token: string | undefined;
}

/**
 * Waits for a token and a slot. The token comes first, so that a slot seldom waits for an exchange. With the slot, the token is asked for again,
 * because it may have expired in the queue. Rejects with an `ApiError`, or with the signal's reason.
 */
export async function admit(
  { clock, limiter, tokens }: Gate,
  operation: Operation,
  run: Run,
  endsAt: number,
  signal: AbortSignal,
): Promise<Admission> {
  const takeToken = async () => tokens && (await unlessAborted(tokenFor(tokens, operation, run), signal));
  await takeToken();
  const slot = await waiting(clock, run, slotFor(limiter, operation, run, endsAt - clock.now(), signal));
  try {
    return { slot, token: await takeToken() };
  } catch (error) {
    slot.answered(); // nothing was sent
    throw error;
  }
}

/** Adds the duration of the work to the time that the call has waited. */
export async function waiting<T>(clock: ClientClock, run: Run, work: Promise<T>): Promise<T> {
  const since = clock.now();
  try {
    return await work;
  } finally {
    run.waitMs += clock.now() - since;
  }
}

async function tokenFor(tokens: Tokens, operation: Operation, run: Run): Promise<string> {
  try {
    return await tokens.get();
  } catch (cause) {
    if (!(cause instanceof ApiError)) throw cause;
    throw ofCall(cause, operation, run, "there is no token", cause.message);
  }
}

async function slotFor(
  limiter: Limiter,
  operation: Operation,
  run: Run,
  timeLeftMs: number,
  signal: AbortSignal,
): Promise<Slot> {
  try {
    return await limiter.take(operation.priority, signal, timeLeftMs);
  } catch (cause) {
    signal.throwIfAborted();
    if (cause instanceof ApiError) {
      const problem = "the service asked for a pause that is longer than the time of the call";
      throw ofCall(
        cause,
        operation,
        run,
        problem,
        "Call again after error.retryAfterMs, or raise timeoutMs.",
      );
    }
    throw new ApiError(
      "limiter_failed",
      run.attempts === 0 ? "the limiter threw, and nothing was sent." : "the limiter threw before a retry.",
      "See the cause; a limiter or budget that cannot reach its store should count alone.",
      { where: operation.name, idempotencyKey: operation.idempotencyKey, attempts: run.attempts, cause },
    );
  }
}

/** Makes the own error of a call from an error that several calls share. */
function ofCall(
  cause: ApiError,
  { name, idempotencyKey }: Operation,
  { attempts }: Run,
  problem: string,
  remedy: string,
): ApiError {
  const { code, status, problemDetails, retryAfterMs } = cause;
  const details = { status, problemDetails, retryAfterMs, idempotencyKey, attempts, cause };
  return new ApiError(code, `${problem}.`, remedy, { where: name, ...details });
}
