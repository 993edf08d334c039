import { type ApiEnvironment, fullJitter, type Logger } from "@esim-webhooks/core";
import { ApiError } from "../base/api-error.ts";
import { startTimeout } from "../base/timeout.ts";
import type { Slot } from "../limit/limiter.ts";
import { readRate } from "../limit/rate.ts";
import { admit, type Gate, waiting } from "./admission.ts";
import { type Answered, type Attempt, type AttemptParts, sendOnce } from "./attempt.ts";
import { errorOf, type Run } from "./error-of.ts";
import { callStage } from "./observe-calls.ts";
import type { Operation } from "./operation.ts";
import { judge, noHistory, remember } from "./retry-rule.ts";

/** The parts that all calls of a client share. */
export interface Transport extends AttemptParts, Gate {
  readonly environment: ApiEnvironment;
  readonly maxAttempts: number;
  readonly logger: Logger;
}

/** The bounds of one call. */
export interface Bounds {
  /** The longest time for the whole call, in ms. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** A call that succeeded, with its answer; undefined when the call is known to be done, and its answer is lost. */
export interface Performed {
  readonly answer: Answered | undefined;
  readonly run: Run;
}

const backoff = fullJitter({ baseMs: 500, capMs: 10_000 });
/** The most that a call waits beyond the time that the service asks for, in ms: clients that got the same answer must not come back together. */
const jitterMs = 500;

/** Performs an operation: sends and judges until it is done, must not be tried again, or has no time or attempts left. Rejects with an `ApiError`. */
export async function perform(
  transport: Transport,
  operation: Operation,
  bounds: Bounds,
): Promise<Performed> {
  const run: Run = { attempts: 0, waitMs: 0, last: undefined };
  const result = await call(operation, run, () => attemptAll(transport, operation, bounds, run));
  if (result instanceof ApiError) throw result;
  return result;
}

const call = callStage.around(
  (_operation: Operation, _run: Run, attempts: () => Promise<Performed>) => attempts().catch(onlyApiError),
  ({ name, method }) => ({ operation: name, method }),
  (ended, _, { attempts, waitMs, last }) => ({
    outcome: ended instanceof ApiError ? ended.code : "ok",
    ...(ended instanceof ApiError && { error: ended }),
    ...(last?.kind === "answered" && { status: last.status }),
    attempts,
    waitMs,
  }),
);

async function attemptAll(
  transport: Transport,
  operation: Operation,
  { timeoutMs, signal: outer }: Bounds,
  run: Run,
): Promise<Performed> {
  const { clock, tokens, maxAttempts, logger } = transport;
  const endsAt = clock.now() + timeoutMs;
  const timeout = startTimeout(clock, timeoutMs, outer);
  const { signal } = timeout;
  let history = noHistory;

  try {
    signal.throwIfAborted(); // before a token is asked for
    for (;;) {
      const { slot, token } = await admit(transport, operation, run, endsAt, signal);
      const attempt = await sendInSlot(slot, run, () =>
        sendOnce(transport, operation, token && `Bearer ${token}`, signal),
      );
      const verdict = judge(operation, attempt, history);
      history = remember(history, attempt);

      if (verdict.next === "done" || verdict.next === "gone") {
        const answer = attempt.kind === "answered" && verdict.next === "done" ? attempt : undefined;
        return { answer, run };
      }
      if (verdict.next === "renew" && tokens !== undefined && token !== undefined) {
        tokens.refuse(token);
        continue;
      }
      const code = verdict.next === "renew" ? "wrong_credentials" : verdict.code;
      if (verdict.next !== "retry" || run.attempts >= maxAttempts)
        throw errorOf(transport, operation, code, run);

      const pauseMs =
        verdict.afterMs === undefined ? backoff(run.attempts) : verdict.afterMs + Math.random() * jitterMs;
      if (clock.now() + pauseMs >= endsAt) throw errorOf(transport, operation, code, run); // the call's time would end before the next attempt
      logger.debug(
        { operation: operation.name, attempt: run.attempts, reason: code, pauseMs },
        "A call is tried again.",
      );
      await waiting(clock, run, clock.wait(pauseMs, signal));
    }
  } catch (error) {
    if (error instanceof ApiError || !signal.aborted) throw error;
    throw errorOf(transport, operation, timeout.isOver ? "timed_out" : "aborted", run, error);
  } finally {
    timeout.clear();
  }
}

/** Sends in a slot, and gives the slot back with what the answer says of the rate limit. */
async function sendInSlot(slot: Slot, run: Run, send: () => Promise<Attempt>): Promise<Attempt> {
  run.attempts += 1;
  run.last = undefined;
  try {
    run.last = await send();
    return run.last;
  } finally {
    if (run.last?.kind === "answered") slot.answered(readRate(run.last.status, run.last.headers));
    else slot.givenUp();
  }
}

function onlyApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  throw error;
}
