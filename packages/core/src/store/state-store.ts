import { isDeepStrictEqual } from "node:util";
import { WebhookError } from "../base/errors.ts";
import type { StoreCapabilities } from "./dedupe-store.ts";
import type { Lifecycle } from "./lifecycle.ts";

/** A value and its version. No earlier or later value of the same name has this version. */
export interface StoredState {
  /** Plain JSON, as it was written. */
  readonly value: unknown;
  /** Opaque. Pass it to `write`. */
  readonly version: string;
}

/**
 * Small states that several processes change, such as the steps of a rotation, watermarks, or which process is the single runner.
 * A name is 1 to 128 visible ASCII characters. A value is plain JSON of at most 64 KiB; `read` returns it unchanged.
 *
 * A state has no expiry. To elect a single runner, let the runner write at intervals. When another process has seen the same version
 * for a whole lease, by its own monotonic clock, the runner's place is free, and the first process to write takes it.
 *
 * Operations reject with a `WebhookError`: `invalid_input` for an invalid name or value, `store_unavailable` when the store
 * cannot answer. After a `write` that rejected, read again: it may have taken effect.
 */
export interface StateStore extends Lifecycle {
  /** The guarantees of this store. */
  readonly capabilities: Pick<StoreCapabilities, "durable" | "multiProcess">;

  ready(): Promise<void>;

  /** Resolves to undefined for a name without a value. */
  read(name: string): Promise<StoredState | undefined>;

  /**
   * Writes the value if the name still has `version`, which `read` returned; pass undefined for a name without a value.
   * False: another process wrote first, and nothing changed. Atomic: of many writes with the same version, one succeeds.
   * Resolves to true once the value is durable.
   */
  write(name: string, value: unknown, version: string | undefined): Promise<boolean>;
}

const namePattern = /^[!-~]{1,128}$/;
const maxValueBytes = 64 * 1024;

/** For authors of stores. Throws `invalid_input` unless the name is 1 to 128 visible ASCII characters. */
export function checkStateName(name: string): void {
  if (typeof name === "string" && namePattern.test(name)) return;
  throw new WebhookError(
    "invalid_input",
    `${JSON.stringify(name)} is not a valid name for a state.`,
    "Use 1 to 128 visible ASCII characters, without spaces.",
  );
}

/** For authors of stores. Returns a value as JSON text. Throws `invalid_input` for a value that JSON would change, or of more than 64 KiB. */
export function encodeState(value: unknown): string {
  const text = jsonOf(value);
  if (text === undefined) {
    throw new WebhookError(
      "invalid_input",
      "The value of a state is not plain JSON, so reading it would return another value.",
      "Use null, booleans, finite numbers and strings, in arrays and objects, and omit undefined properties.",
    );
  }
  const bytes = Buffer.byteLength(text);
  if (bytes <= maxValueBytes) return text;
  throw new WebhookError(
    "invalid_input",
    `The value of a state is ${bytes} bytes of JSON; the limit is ${maxValueBytes}.`,
    "Store less in it: only what the next step needs.",
  );
}

function jsonOf(value: unknown): string | undefined {
  try {
    const text: string | undefined = JSON.stringify(value);
    return text !== undefined && isDeepStrictEqual(JSON.parse(text), value) ? text : undefined;
  } catch {
    return undefined; // a circular reference, or a bigint
  }
}
