import { isDeepStrictEqual } from "node:util";
import { WebhookError } from "../base/errors.ts";
import type { StoreCapabilities } from "./dedupe-store.ts";
import type { Lifecycle } from "./lifecycle.ts";

/** A value, and its version: no other value of this name, before or after it, has the same. */
export interface StoredState {
  readonly value: unknown;
  /** Opaque; for `write`. */
  readonly version: string;
}

/**
 * Small durable state that several processes change: the steps of a rotation, watermarks, who the single runner is.
 * A name is 1 to 128 visible ASCII characters. A value is plain JSON of at most 64 KiB and comes back as it was.
 *
 * Time is no part of it. A runner that keeps writing holds its place: to the others its place is free once they have seen
 * the same version for a whole lease by their own monotonic clocks, and whoever of them writes first has it.
 *
 * Operations reject with a `WebhookError`: `invalid_input` for a name or value that cannot be, `store_unavailable` when
 * the store cannot answer. After a `write` that rejected, read again: it may have happened.
 */
export interface StateStore extends Lifecycle {
  readonly capabilities: Pick<StoreCapabilities, "durable" | "multiProcess">;

  ready(): Promise<void>;

  /** Undefined: nobody has written that name yet. */
  read(name: string): Promise<StoredState | undefined>;

  /**
   * Writes the value if `version` still is the version of that name, as `read` gave it; undefined: if nobody has written
   * the name yet. False: somebody else was first, and nothing changed. Atomic: of many writes with the same version one
   * is true. Resolves to true once the value is durable.
   */
  write(name: string, value: unknown, version: string | undefined): Promise<boolean>;
}

const namePattern = /^[!-~]{1,128}$/;
const maxValueBytes = 64 * 1024;

/** For authors of stores. Throws `invalid_input` unless it is 1 to 128 visible ASCII characters. */
export function checkStateName(name: string): void {
  if (typeof name === "string" && namePattern.test(name)) return;
  throw new WebhookError(
    "invalid_input",
    `A state cannot be named ${JSON.stringify(name)}.`,
    "Use 1 to 128 visible ASCII characters, without spaces.",
  );
}

/** For authors of stores. The value as JSON text; throws `invalid_input` where it would not come back as it is. */
export function encodeState(value: unknown): string {
  const text = jsonOf(value);
  if (text === undefined) {
    throw new WebhookError(
      "invalid_input",
      "The value of a state is not plain JSON, so it would not come back as it is.",
      "Use null, booleans, finite numbers, strings, and arrays and objects of them; leave out what is undefined.",
    );
  }
  const bytes = Buffer.byteLength(text);
  if (bytes <= maxValueBytes) return text;
  throw new WebhookError(
    "invalid_input",
    `The value of a state is ${bytes} bytes of JSON, and ${maxValueBytes} is the limit.`,
    "Keep only what the next step needs.",
  );
}

function jsonOf(value: unknown): string | undefined {
  try {
    const text: string | undefined = JSON.stringify(value);
    return text !== undefined && isDeepStrictEqual(JSON.parse(text), value) ? text : undefined;
  } catch {
    return undefined; // a circle, or a bigint
  }
}
