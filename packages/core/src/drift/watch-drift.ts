import * as z from "zod/mini";
import { monotonicClock } from "../base/clock.ts";
import { WebhookError } from "../base/errors.ts";
import { type Logger, silentLogger, throttledLog } from "../base/logger.ts";
import { hasMethod, loggerOption, parseOptions } from "../base/options.ts";
import { unref, within } from "../base/waiting.ts";
import { sentData } from "../event/catalog.ts";
import { stateInEnvironment } from "../store/state-in-environment.ts";
import type { StateStore } from "../store/state-store.ts";
import { type DriftFinding, driftNotice } from "./finding.ts";
import { foldType } from "./fold.ts";
import { createShapes, type Shapes, type Unwritten } from "./shapes.ts";
import { listType, rowName } from "./stored-types.ts";
import { mergeInto, readRow, rowValue } from "./type-row.ts";

/** An event as the catalog has parsed it. */
export interface DriftEvent {
  /** The catalog's verdict. */
  readonly kind: "known" | "unknown" | "invalid";
  /** The event type, or null if the body has none. */
  readonly type: string | null;
  /** The parsed event, or null if there is none. */
  readonly event: { readonly data: unknown } | null;
}

/** Compares authentic live events with the catalog, and with earlier events of their type. */
export interface DriftWatch {
  /** For receivers and workers: looks at an event. Synchronous, never throws. */
  see(event: DriftEvent, receivedAt: Date): void;
  /** Writes what is not written yet, and logs what is found. Takes at most 5 s, and never rejects. Receivers and workers call it when they close. */
  flush(): Promise<void>;
}

interface Sketch {
  readonly shapes: Shapes;
  readonly isKnown: boolean;
  isWritten: boolean;
}

const shape = { logger: z._default(loggerOption, () => silentLogger) };

const soonMs = 100;
const retryMs = 60_000;
const countsMs = 10 * 60_000;
const flushMs = 5000;
const mostTypes = 128;
const mostWrites = 20;

const messages: Readonly<Record<DriftFinding["kind"], string>> = {
  new_type: "the catalog does not have its type",
  new_field: "it has a field that its type did not have",
  missing_field: "it lacks a field that its type always had",
  other_json_type: "a field has another JSON type",
  new_value: "a field has a value that is not documented",
};

/**
 * Watches whether events differ from the catalog: pass it as the option `drift` to receivers, or to workers whose receivers have none.
 * It keeps one small state for each event type: names and JSON types of the fields of `data`, and undocumented values of
 * enumerations, but no other values. Throws `invalid_option`.
 * @param stateStore shared by all processes, so that each finding is logged once
 * @param options a `logger`, which gets a warning for each finding (default: none)
 */
export function watchDrift(
  stateStore: Pick<StateStore, "read" | "write">,
  options: {
    /** Gets a line for each finding. Default: silent. */
    readonly logger?: Logger;
  } = {},
): DriftWatch {
  if (!hasMethod(stateStore, "read") || !hasMethod(stateStore, "write")) {
    throw new WebhookError(
      "invalid_option",
      "the first argument is not a state store.",
      "Pass one, such as sqliteState, postgresState, redisState or fileState.",
      { where: "watchDrift" },
    );
  }
  const { logger } = parseOptions("watchDrift", shape, options);
  const state = stateInEnvironment(stateStore);
  const logUnavailable = throttledLog(logger.warn, monotonicClock);
  const sketches = new Map<string, Sketch>();
  let timer: unknown;
  let dueAt = Number.POSITIVE_INFINITY;
  let writing: Promise<void> | undefined;

  function arm(ms: number): void {
    const at = performance.now() + ms;
    if (at >= dueAt) return;
    clearTimeout(timer as NodeJS.Timeout | undefined);
    dueAt = at;
    timer = setTimeout(() => void flush(), ms);
    unref(timer);
  }

  function sketchOf(type: string, isKnown: boolean): Sketch {
    const kept = sketches.size < mostTypes ? foldType(type) : "*";
    let sketch = sketches.get(kept);
    if (sketch === undefined) {
      sketch = { shapes: createShapes(kept), isKnown, isWritten: false };
      sketches.set(kept, sketch);
    }
    return sketch;
  }

  function report(type: string, finding: DriftFinding): void {
    const { kind, ...facts } = finding;
    logger.warn(
      { type, drift: kind, ...facts },
      `An event shows that the API has changed: ${messages[kind]}. Look at it: esim-webhooks events drift. With --acknowledge, it ends.`,
    );
    if (driftNotice.hasSubscribers) driftNotice.publish({ type, ...finding });
  }

  async function write(type: string, sketch: Sketch, unwritten: Unwritten): Promise<void> {
    const listed = await listType(state, type);
    for (let writes = 0; writes < mostWrites; writes++) {
      const stored = await state.read(rowName(listed));
      if (stored === undefined && sketch.isWritten) sketch.shapes.forget();
      const row = readRow(stored?.value);
      const found = mergeInto(row, listed, sketch.isKnown, unwritten);
      if (!(await state.write(rowName(listed), rowValue(row), stored?.version))) continue;
      sketch.isWritten = true;
      for (const finding of found) report(listed, finding);
      return;
    }
    throw new Error("Other processes write the state of this type all the time.");
  }

  async function writeAll(): Promise<void> {
    for (const [type, sketch] of sketches) {
      const unwritten = sketch.shapes.take();
      if (unwritten === undefined) continue;
      try {
        await write(type, sketch, unwritten);
      } catch (err) {
        sketch.shapes.putBack(unwritten);
        logUnavailable({ err }, "Drift of events could not be stored, so it is noted later.");
        arm(retryMs);
        return;
      }
    }
  }

  async function flush(): Promise<void> {
    clearTimeout(timer as NodeJS.Timeout | undefined);
    dueAt = Number.POSITIVE_INFINITY;
    const before = writing ?? Promise.resolve();
    const now = before.then(writeAll);
    writing = now;
    await within(flushMs, now);
    if (writing === now) writing = undefined;
  }

  return {
    see(event, receivedAt) {
      const { kind, type } = event;
      const sent = sentData(event);
      if (type === null || typeof sent !== "object" || sent === null || Array.isArray(sent)) return;
      const sketch = sketches.get(type) ?? sketchOf(type, kind !== "unknown");
      const isNew = sketch.shapes.add(sent as Record<string, unknown>, receivedAt);
      if (isNew) arm(soonMs);
      else if (dueAt === Number.POSITIVE_INFINITY) arm(countsMs);
    },
    flush,
  };
}
