import * as z from "zod/mini";
import { askInTime } from "../base/ask.ts";
import { type Clock, systemClock } from "../base/clock.ts";
import { WebhookError } from "../base/errors.ts";
import { type Logger, silentLogger } from "../base/logger.ts";
import {
  durationMs,
  loggerOption,
  type OptionsShape,
  parseOptions,
  type SettingsOf,
  withMethods,
} from "../base/options.ts";
import { unref } from "../base/waiting.ts";
import { toleranceOption } from "../receive/receiver-options.ts";
import { type Tolerance, type ToleranceSeconds, toleranceOf } from "../verify/tolerance.ts";
import { createInboxLook, silence, type Trouble, type TroubleInbox, troubleOf } from "./troubles.ts";
import { watchReceiving, windowMs } from "./watch-receiving.ts";

/** Options of `watchTroubles`. */
export interface WatchTroublesOptions {
  /** The inbox. Without one, only what this process receives is watched. */
  inbox?: TroubleInbox;
  /** The `toleranceSeconds` of the receiver, if it was set there. A clock skew of more than half of it is a trouble. Default 300. */
  toleranceSeconds?: ToleranceSeconds;
  /** The longest time without a delivery that is no trouble, in ms: longer than your quiet times. Default 86,400,000: a day. */
  silenceMs?: number;
  /** Gets a line when a trouble begins and one when it has ended. Default: silent. */
  logger?: Logger;
  /** Returns the time, for tests. Default: the machine's clock. */
  clock?: Clock;
}

const everyMs = 60_000;
/** How long the inbox may take to answer: one that hangs must not hide what this process receives. */
const answerMs = 10_000;

const shape: OptionsShape<SettingsOf<WatchTroublesOptions, "inbox">> = {
  inbox: z.optional(withMethods<TroubleInbox>("gauges", "paused", "runs", "list", "get")),
  toleranceSeconds: toleranceOption,
  silenceMs: z._default(durationMs(1), 86_400_000),
  logger: z._default(loggerOption, () => silentLogger),
  clock: z._default(withMethods<Clock>("now"), systemClock),
};

/** Looks for troubles each minute, until it is closed. */
export interface TroubleWatch {
  /** Looks now, or joins a look that is under way. Logs what has changed. Resolves to the present troubles, and never rejects. */
  check(): Promise<readonly Trouble[]>;
  /** Stops watching. The watch does not keep the process alive. */
  close(): void;
}

/**
 * Watches for troubles: conditions that need an operator although every process runs. It looks once a minute, counts what the receivers of this
 * process answer, and reads the rest from the inbox; docs/observing.md lists the conditions. While the inbox does not answer, the troubles that
 * it showed last stay. Throws `invalid_option`.
 */
export function watchTroubles(options: WatchTroublesOptions = {}): TroubleWatch {
  const {
    inbox,
    toleranceSeconds,
    silenceMs,
    logger: log,
    clock,
  } = parseOptions("watchTroubles", shape, options);
  const lookAt = inbox && createInboxLook(inbox, { silenceMs });
  const look = lookAt && askInTime(() => lookAt(clock.now()), { withinMs: answerMs, late: lateLook });
  const receiving = watchReceiving(clock, toleranceOf(toleranceSeconds) as Tolerance);
  const backlog = watchBacklog();
  let stored: readonly Trouble[] = [];
  let present = new Map<string, Trouble>();
  let looking: Promise<readonly Trouble[]> | undefined;
  let hasFailed = false;

  async function lookNow(): Promise<readonly Trouble[]> {
    const atMs = clock.now();
    try {
      const found = await look?.();
      if (found !== undefined)
        stored = [...found.troubles, ...backlog.look(found.gauges.oldestReadyMs ?? 0, atMs)];
      hasFailed = false;
    } catch (error) {
      // probes, receivers and workers log that the inbox does not answer
      const isUnreachable = WebhookError.is(error) && error.code === "store_unavailable";
      if (!isUnreachable && !hasFailed)
        log.error({ err: error }, "The inbox could not be looked at for troubles, so new ones do not show.");
      hasFailed ||= !isUnreachable;
    }
    const inline = look === undefined ? silence(receiving.lastAt(), silenceMs, atMs) : [];
    const troubles = [...stored, ...inline, ...receiving.look(atMs)];
    note(troubles);
    return troubles;
  }

  function note(troubles: readonly Trouble[]): void {
    const before = present;
    present = new Map(troubles.map((trouble) => [`${trouble.code} ${trouble.subject ?? ""}`, trouble]));
    for (const [name, { problem, remedy, ...trouble }] of present)
      if (!before.has(name)) log.warn(trouble, `${problem} ${remedy}`);
    for (const [name, { code, subject }] of before)
      if (!present.has(name))
        log.info({ code, ...(subject !== undefined && { subject }) }, "A trouble has ended.");
  }

  function check(): Promise<readonly Trouble[]> {
    looking ??= lookNow().finally(() => {
      looking = undefined;
    });
    return looking;
  }

  const timer = setInterval(() => void check(), everyMs);
  unref(timer);
  return {
    check,
    close() {
      clearInterval(timer);
      receiving.stop();
    },
  };
}

const lateLook = () =>
  new WebhookError(
    "store_unavailable",
    `The inbox did not answer within ${answerMs} ms.`,
    "Check that its server is up and not overloaded.",
  );

/** The least growth of the age of the oldest due event in ten minutes that is a trouble. While workers keep up, the age varies by less. */
const leastGrowthMs = 60_000;

/**
 * Finds a backlog that grows, since workers are slower than deliveries: then the age of the oldest due event grows, too. Unlike the number of due
 * events, that age is not counted up to a limit.
 */
function watchBacklog() {
  const looks: { readonly atMs: number; readonly oldestMs: number }[] = [];

  return {
    look(oldestMs: number, atMs: number): readonly Trouble[] {
      if (oldestMs === 0)
        looks.length = 0; // none is due
      else looks.push({ atMs, oldestMs });
      while (looks[1] !== undefined && atMs - looks[1].atMs >= windowMs) looks.shift();
      const [first] = looks;
      if (first === undefined || atMs - first.atMs < windowMs) return [];
      if (oldestMs - first.oldestMs < leastGrowthMs) return [];
      return [
        troubleOf(
          "backlog_grows",
          "For ten minutes, events have become due faster than workers handle them.",
        ),
      ];
    },
  };
}
