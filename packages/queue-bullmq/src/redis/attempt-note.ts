import type { HistoryStep } from "@esim-webhooks/core";
import {
  describeThrown,
  fittedError,
  frameStart,
  framesOf,
  isInstance,
  readThrown,
  withCauses,
} from "@esim-webhooks/core/internal";
import { maskPersonalData } from "@esim-webhooks/core/masking";
import { DelayedError, WaitingChildrenError, WaitingError } from "bullmq";

/** The note of the processor on a failed attempt, at the end of the stack that BullMQ keeps of it. A redrive is kept as a note without a stack. */
export interface AttemptNote {
  readonly reason: HistoryStep["reason"];
  /** When it ended, in ms since the Unix epoch. */
  readonly at: number;
  /** How long it took. Absent for a redrive. */
  readonly ms?: number;
  /** How often the job had stalled by then. */
  readonly stalled: number;
  /** Who has redriven it. */
  readonly by?: string;
  /** How many attempts had begun before a redrive. Absent for an attempt. */
  readonly attempts?: number;
}

const noteStart = `${frameStart}esim-webhooks `;
const mostCharacters = 2000;

/**
 * Returns the thrown value as an error that BullMQ may keep: of the same class, with its causes in its message, secrets and personal data masked in
 * message and stack, and with the note. Its cause is the original.
 */
export function storableError(thrown: unknown, note: AttemptNote): Error {
  const described = describeThrown(thrown);
  const message = storable(withCauses(described.message, thrown));
  const start = described.isError ? `${described.name}: ` : "";
  const frames = framesOf(described).map((frame) => `${frameStart}${storable(frame)}`);
  const stack = `${start}${message}${frames.join("")}${noteStart}${JSON.stringify(note)}`;
  const isPlain = putOffs.some((it) => isInstance(thrown, it) || described.name === it.name);
  const error = isPlain ? new Error() : ofSameClass(thrown);
  const name = isPlain ? "Error" : described.name;
  const fields = { name, message, stack, cause: thrown };
  for (const [key, value] of Object.entries(fields)) define(error, key, value);
  return error;
}

/** The errors after which BullMQ leaves a job as it is, since a processor has moved it. A handler cannot move it, so its job would stay active. */
const putOffs = [DelayedError, WaitingError, WaitingChildrenError];

/** A new error of the same class, with the same fields. The getters of the class become fields too, since they may need the original. */
function ofSameClass(thrown: unknown): Error {
  const error = new Error();
  try {
    if (!(thrown instanceof Error)) return error;
    for (const key of Object.keys(thrown)) define(error, key, readThrown(thrown, key));
    const ofThrown = Object.getPrototypeOf(thrown);
    for (let of = ofThrown; of !== Error.prototype; of = Object.getPrototypeOf(of))
      for (const [key, { get }] of Object.entries(Object.getOwnPropertyDescriptors(of)))
        if (get !== undefined) define(error, key, readThrown(thrown, key));
    return Object.setPrototypeOf(error, ofThrown);
  } catch {
    return error; // a proxy that cannot be asked
  }
}

function define(error: Error, key: string, value: unknown): void {
  Object.defineProperty(error, key, { value, writable: true, configurable: true });
}

function storable(text: string): string {
  return fittedError(maskPersonalData(text), mostCharacters).toWellFormed();
}

/** A redrive, as an entry of the stacks that BullMQ keeps. `step` is what `encodeStep` returns. */
export function redriveStack(
  step: string,
  note: Required<Pick<AttemptNote, "at" | "stalled" | "attempts">>,
): string {
  return noteStart + JSON.stringify({ ...JSON.parse(step), ...note });
}

/** Splits a stack that BullMQ keeps. It has no note if only BullMQ knew that the attempt failed. */
export function readStack(kept: string): { readonly stack: string; readonly note: AttemptNote | null } {
  const at = kept.lastIndexOf(noteStart);
  if (at === -1) return { stack: kept, note: null };
  try {
    return { stack: kept.slice(0, at), note: JSON.parse(kept.slice(at + noteStart.length)) as AttemptNote };
  } catch {
    return { stack: kept, note: null };
  }
}
