import { startDeadline } from "../base/deadline.ts";
import { WebhookError } from "../base/errors.ts";
import { type Logger, warnOfSetup } from "../base/logger.ts";

export interface StoreGuardOptions {
  /** The function that made the store, for messages. */
  readonly name: string;
  /** How long one operation may take, in ms. */
  readonly timeoutMs: number;
  readonly logger: Logger;
  /** Looks at how the server is set up, before the first operation. Rejects with the mistake as a `WebhookError`. */
  check(signal: AbortSignal): Promise<void>;
}

/** What keeps a store's word: its set-up is checked, it answers in time, and it rejects with a `WebhookError` only. */
export interface StoreGuard {
  /** The check: made by the first call, and again by the next one while it fails. */
  ready(): Promise<void>;
  /** Runs one operation. `signal` aborts when nobody waits for it any more. */
  run<T>(operation: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /** Runs what takes as long as it takes, such as migrations, without the check. */
  runUnchecked<T>(operation: () => Promise<T>): Promise<T>;
  /** Refuses everything from now on, and runs `free`, once. */
  close(free: () => Promise<void>): Promise<void>;
}

/** For authors of stores. */
export function createStoreGuard({ name, timeoutMs, logger, check }: StoreGuardOptions): StoreGuard {
  let checked: Promise<void> | undefined;
  let isReady = false;
  let warned = false;
  let closed: Promise<void> | undefined;

  function ready(): Promise<void> {
    checked ??= within(check).then(
      () => {
        isReady = true;
      },
      (error: WebhookError) => {
        checked = undefined;
        if (error.code !== "store_unavailable" && !warned) warnOfSetup(logger, error.code, error.message);
        warned ||= error.code !== "store_unavailable";
        throw error;
      },
    );
    return checked;
  }

  async function heard<T>(operation: () => Promise<T>): Promise<T> {
    if (closed !== undefined) {
      throw new WebhookError("store_unavailable", `The ${name} was closed.`, "Close it after its last user.");
    }
    try {
      return await operation();
    } catch (error) {
      if (WebhookError.is(error)) throw error;
      throw new WebhookError(
        "store_unavailable",
        `The server of the ${name} could not be asked.`,
        "Its cause says why: the server is down or cannot be reached, or refuses this client.",
        { cause: error },
      );
    }
  }

  async function within<T>(operation: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const deadline = startDeadline(timeoutMs);
    const work = heard(() => operation(deadline.signal)).then((answer) => ({ answer }));
    const answered = await deadline.before(work);
    if (answered !== undefined) return answered.answer;
    throw new WebhookError(
      "store_unavailable",
      `The server of the ${name} did not answer within ${timeoutMs} ms.`,
      "Check that it is up and not overloaded.",
    );
  }

  return {
    ready,
    async run(operation) {
      if (!isReady) await ready();
      return within(operation);
    },
    runUnchecked: heard,
    close(free) {
      closed ??= Promise.allSettled([checked]).then(free); // what is being opened is freed as well
      return closed;
    },
  };
}
