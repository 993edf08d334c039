import { type Channel, channel, tracingChannel } from "node:diagnostics_channel";

const prefix = "esim-webhooks:";

/** What every stage's message says once the stage has ended. */
export interface StageMessage {
  readonly outcome: string;
  /** From the start of the stage to its end, in ms, with fractions. */
  readonly durationMs: number;
  /** What was thrown, if anything was. Its text is not ours: a handler's error may quote personal data. */
  readonly error?: unknown;
}

/** A step of a delivery or an event that takes time: it has a start, an end, and work that runs inside it. */
export interface Stage<Message extends StageMessage, AtEnd extends keyof Message = never> {
  /** Publishes the message when the stage has ended. */
  readonly ended: Channel<unknown, Message>;
  /**
   * Runs `work` inside the stage, and resolves or rejects as it does. `begin` makes the message, and `end` what the result
   * adds to it: both are called only while somebody watches.
   */
  trace<Result>(
    begin: () => Omit<Message, AtEnd | keyof StageMessage>,
    work: () => Promise<Result>,
    end: (result: Result) => Pick<Message, AtEnd | "outcome" | "error">,
  ): Promise<Result>;
}

/**
 * A tracing channel of `node:diagnostics_channel`, as `tracePromise` uses it: `start` and `end` bracket the call, and
 * `asyncStart` and `asyncEnd` follow when its promise settles. A store bound to `start` holds for all that runs inside.
 * Unlike `tracePromise`, it publishes no results, which may hold a payload. Outcomes are values here: `error` is
 * published, before `asyncStart`, where the outcome has one.
 * @param rejected the outcome of work that rejects
 */
export function createStage<Message extends StageMessage, AtEnd extends keyof Message = never>(
  name: string,
  rejected: Message["outcome"],
): Stage<Message, AtEnd> {
  const { start, end, asyncStart, asyncEnd, error } = tracingChannel<unknown, Message>(prefix + name);

  /** As `TracingChannel.hasSubscribers`, which Bun does not have. */
  function isWatched(): boolean {
    return (
      asyncEnd.hasSubscribers ||
      start.hasSubscribers ||
      end.hasSubscribers ||
      asyncStart.hasSubscribers ||
      error.hasSubscribers
    );
  }

  function traced<Result>(
    message: Message,
    work: () => Promise<Result>,
    atEnd: (result: Result) => object,
  ): Promise<Result> {
    const startedAt = performance.now();
    const finish = (fields: object) => {
      Object.assign(message, fields, { durationMs: performance.now() - startedAt });
      if ("error" in message) error.publish(message);
      asyncStart.publish(message);
      asyncEnd.publish(message);
    };
    return start.runStores(message, () => {
      const working = (async () => work())();
      end.publish(message);
      return working.then(
        (result) => {
          finish(atEnd(result));
          return result;
        },
        (cause: unknown) => {
          finish({ outcome: rejected, error: cause });
          throw cause;
        },
      );
    });
  }

  return {
    ended: asyncEnd,
    trace: (begin, work, atEnd) => (isWatched() ? traced(begin() as Message, work, atEnd) : work()),
  };
}

/** What a stage's message says of an outcome. */
export function outcomeOf<Code extends string>(outcome: {
  readonly code: Code;
  readonly error?: unknown;
}): { readonly outcome: Code; readonly error?: unknown } {
  const { code } = outcome;
  return "error" in outcome ? { outcome: code, error: outcome.error } : { outcome: code };
}

/** A plain channel, for what takes no time of its own. Publish only while it `hasSubscribers`. */
export function createNotice<Message>(name: string): Channel<unknown, Message> {
  return channel(prefix + name) as Channel<unknown, Message>;
}
