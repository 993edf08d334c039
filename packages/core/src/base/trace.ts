import { type Channel, channel, tracingChannel } from "node:diagnostics_channel";
import { warnOfCallback } from "./logger.ts";
import { beginSpan, endSpan, isTraced, runInSpan } from "./tracer.ts";
import { isPromise } from "./waiting.ts";

const prefix = "esim-webhooks:";

/** The fields in the message of every stage that has ended. */
export interface StageMessage {
  /** A stable code, which each stage narrows to its own. */
  readonly outcome: string;
  /** From the start of the stage to its end, in ms, with fractions. */
  readonly durationMs: number;
  /** The thrown error, if any. A handler's error may quote personal data. */
  readonly error?: unknown;
}

/** A step on the way of a delivery or an event, with a start, an end, and work in between. */
export interface Stage<Message extends StageMessage, AtEnd extends keyof Message = never> {
  /** The channel of messages about stages that begin. An `AsyncLocalStorage` that is bound to it has its value in all that the stage does. */
  readonly started: Channel<unknown, Message>;
  /** The channel of messages about ended stages. */
  readonly ended: Channel<unknown, Message>;
  /**
   * Returns `work`, of at most three arguments, as a stage: a function that ends as `work` does. `begin` makes the message from the
   * arguments; `end` makes the fields that the result adds. Both are called only while the stage has subscribers or a tracer. Otherwise
   * the function only calls `work`, and makes no garbage.
   */
  around<Work, One = void, Two = void, Three = void>(
    work: (one: One, two: Two, three: Three) => Work,
    begin: (one: One, two: Two, three: Three) => Omit<Message, AtEnd | keyof StageMessage>,
    end: (
      result: Awaited<Work>,
      one: One,
      two: Two,
      three: Three,
    ) => Pick<Message, AtEnd | "outcome" | "error">,
  ): (one: One, two: Two, three: Three) => Work | Promise<Awaited<Work>>;
}

/**
 * Creates a stage on a tracing channel of `node:diagnostics_channel`. It publishes as `tracePromise` does: `start` and `end`
 * before and after the call, `asyncStart` and `asyncEnd` once the work has ended, even without a promise. An
 * `AsyncLocalStorage` that is bound to `start` has its value in all the work. Unlike `tracePromise`, it publishes no results, which may
 * contain a payload, and it publishes `error`, before `asyncStart`, also for an outcome that has an error.
 * @param name of the stage; the channels are `tracing:esim-webhooks:<name>:*`
 * @param rejected the outcome of work that throws or rejects
 */
export function createStage<Message extends StageMessage, AtEnd extends keyof Message = never>(
  name: string,
  rejected: Message["outcome"],
): Stage<Message, AtEnd> {
  const { start, end, asyncStart, asyncEnd, error } = tracingChannel<unknown, Message>(prefix + name);

  /** Whether the stage has a tracer or a subscriber. Not by `TracingChannel.hasSubscribers`, which Bun does not have. */
  function isWatched(): boolean {
    return (
      isTraced(name) ||
      asyncEnd.hasSubscribers ||
      start.hasSubscribers ||
      end.hasSubscribers ||
      asyncStart.hasSubscribers ||
      error.hasSubscribers
    );
  }

  function trace<Work>(
    message: Message,
    work: () => Work,
    fieldsOf: (result: Awaited<Work>) => object,
  ): Work | Promise<Awaited<Work>> | Awaited<Work> {
    const startedAt = performance.now();
    const span = isTraced(name) ? beginSpan(name, message) : undefined;
    const finish = (fields: object) => {
      Object.assign(message, fields, { durationMs: performance.now() - startedAt });
      if (span) endSpan(span);
      if ("error" in message) error.publish(message);
      asyncStart.publish(message);
      asyncEnd.publish(message);
    };
    const fail = (cause: unknown): never => {
      finish({ outcome: rejected, error: cause });
      throw cause;
    };
    return start.runStores(message, () => {
      let result: Work;
      try {
        result = span ? runInSpan(span, work) : work();
      } catch (cause) {
        end.publish(message);
        return fail(cause);
      }
      end.publish(message);
      const done = (value: Awaited<Work>) => {
        let fields: object;
        try {
          fields = fieldsOf(value);
        } catch (error) {
          fields = { outcome: rejected, error }; // the work returned an impossible value, as a faulty store may; its caller finds out
        }
        finish(fields);
        return value;
      };
      // synchronous work makes no promise, as if it were not watched
      return isPromise(result)
        ? (Promise.resolve(result).then(done as never, fail) as Promise<Awaited<Work>>)
        : done(result as Awaited<Work>);
    });
  }

  return {
    started: start,
    ended: asyncEnd,
    // named arguments: a rest parameter would cost a delivery 3 % of its time
    around: (work, begin, fieldsOf) => (one, two, three) =>
      isWatched()
        ? trace(
            begin(one, two, three) as Message,
            () => work(one, two, three),
            (result) => fieldsOf(result, one, two, three),
          )
        : work(one, two, three),
  };
}

/** An outcome as fields of a stage's message. */
export function outcomeFields<Code extends string>(outcome: {
  readonly code: Code;
  readonly error?: unknown;
}): { readonly outcome: Code; readonly error?: unknown } {
  const { code } = outcome;
  return "error" in outcome ? { outcome: code, error: outcome.error } : { outcome: code };
}

/** A plain channel, for facts that have no duration. Publish only while it `hasSubscribers`. */
export function createNotice<Message>(name: string): Channel<unknown, Message> {
  return channel(prefix + name) as Channel<unknown, Message>;
}

/** Publishes how far long work has come, with the time since it began. */
export interface ProgressNotice<Message extends StageMessage> {
  /** Whether 100 ms have passed since the last time that this was true: progress is published at most ten times a second. */
  isDue(): boolean;
  /** Publishes `fields` and what the work has done so far, while the channel has subscribers. */
  publish(fields: Partial<Message> & Pick<Message, "outcome">): void;
}

const progressEveryMs = 100;

/** Creates the notice of work that begins now. `soFar` is called only while the channel has subscribers. */
export function createProgressNotice<Message extends StageMessage>(
  channel: Channel<unknown, Message>,
  soFar: () => Omit<Message, "outcome" | "durationMs" | "error">,
): ProgressNotice<Message> {
  const startedAt = performance.now();
  let nextAt = 0;
  return {
    isDue() {
      if (performance.now() < nextAt) return false;
      nextAt = performance.now() + progressEveryMs;
      return true;
    },
    publish(fields) {
      if (!channel.hasSubscribers) return;
      const durationMs = performance.now() - startedAt;
      channel.publish({ ...soFar(), ...fields, durationMs } as unknown as Message);
    },
  };
}

/** Called with the name of a step and what its listener threw. */
export type ListenerWarning = (name: string, error: unknown) => void;

/**
 * Calls `listener` for each message of a channel. A listener that throws or rejects changes nothing else: its error goes to
 * `warn`. Returns a function that stops listening.
 * @param name of the step, for the warning
 * @param channel a channel of `node:diagnostics_channel`
 * @param listener may return a promise
 * @param warn called with each error. Default: the first one is a warning of the process
 */
export function listenTo<Message>(
  name: string,
  channel: Channel<unknown, Message>,
  listener: (message: Message) => unknown,
  warn: ListenerWarning = warnOnce(),
): () => void {
  const failed = (error: unknown) => warn(name, error);
  // no async function: a promise for each message would cost a delivery a tenth of its time
  const call = (message: unknown): void => {
    try {
      const returned = listener(message as Message);
      if (isPromise(returned)) returned.then(undefined, failed);
    } catch (error) {
      failed(error);
    }
  };
  channel.subscribe(call);
  return () => void channel.unsubscribe(call);
}

/** Makes a `ListenerWarning` that emits only its first error, as a Node.js process warning with the code `observer_failed`. */
export function warnOnce(): ListenerWarning {
  let isWarned = false;
  return (name, error) => {
    if (isWarned) return;
    isWarned = true;
    const message = `The observer of "${name}" threw. Catch errors inside the observer.`;
    warnOfCallback("observer_failed", message, error);
  };
}
