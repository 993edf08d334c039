import type { AttemptReport } from "@esim-webhooks/core";
import { fittedError, frameStart, framesOf, maskPersonalData, withCauses } from "@esim-webhooks/core/kit";

/** What the processor notes of a failed attempt at the end of the stack that BullMQ keeps of it. */
export interface AttemptNote {
  readonly reason: AttemptReport["reason"];
  /** When it ended, in ms since the Unix epoch. */
  readonly at: number;
  /** How long it took. */
  readonly ms: number;
  /** How often the job had stalled by then. */
  readonly stalled: number;
}

const noteStart = `${frameStart}esim-webhooks `;
const mostCharacters = 2000;

/**
 * The error as BullMQ may keep it: of the same class, with its causes in its message, secrets and personal data masked in message and stack,
 * and with the note. Its cause is the original.
 */
export function storableError(error: Error, note: AttemptNote): Error {
  const message = storable(withCauses(String(error.message), error));
  const frames = framesOf(error).map((frame) => `${frameStart}${storable(frame)}`);
  const copy = Object.assign(Object.create(Object.getPrototypeOf(error)) as Error, error);
  const value = (text: string) => ({ value: text, writable: true, configurable: true });
  return Object.defineProperties(copy, {
    message: value(message),
    stack: value(`${error.name}: ${message}${frames.join("")}${noteStart}${JSON.stringify(note)}`),
    cause: { value: error, writable: true, configurable: true },
  });
}

function storable(text: string): string {
  return fittedError(maskPersonalData(text), mostCharacters).toWellFormed();
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
