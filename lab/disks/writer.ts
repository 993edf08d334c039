import type { DiskFault } from "./layer.ts";

/** A part of the product that writes files. */
export interface Writer {
  readonly name: string;
  /** The faults of the disk to try. */
  readonly faults: readonly DiskFault[];
  /** If it takes seconds, each cut is tried once, each time with other changes that are lost, and few calls get faults. */
  readonly isSlow: boolean;
  /** Creates the folder with files that are on the disk already. By default, it is empty. */
  prepare?(folder: string): Promise<void>;
  /**
   * Writes to this folder, which may have the files of an earlier call. Calls `acknowledge` at each moment from which on the product must
   * not lose something. May reject, if the disk fails.
   */
  write(folder: string, acknowledge: (what: string) => void): Promise<void>;
  /** Opens the files by the product itself. Rejects if something acknowledged is missing, or a file cannot be read. */
  check(folder: string, acknowledged: readonly string[]): Promise<void>;
}

export const filesWriter = { faults: ["one error", "no disk", "a full disk"], isSlow: false } as const;

/** Throws if any of these is missing. */
export function expectAll(expected: readonly string[], isThere: (what: string) => boolean): void {
  const missing = expected.filter((what) => !isThere(what));
  if (missing.length > 0) throw new Error(`acknowledged, and missing: ${missing.join(", ")}`);
}
