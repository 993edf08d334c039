/** A part of the product that writes files. */
export interface Writer {
  readonly name: string;
  /**
   * Writes to this folder, which may have the files of an earlier call. Calls `acknowledge` at each moment from which on the product must
   * not lose something. May reject, if the disk fails.
   */
  write(folder: string, acknowledge: (what: string) => void): Promise<void>;
  /** Opens the files by the product itself. Rejects if something acknowledged is missing, or a file cannot be read. */
  check(folder: string, acknowledged: readonly string[]): Promise<void>;
}

/** Throws if any of these is missing. */
export function expectAll(expected: readonly string[], isThere: (what: string) => boolean): void {
  const missing = expected.filter((what) => !isThere(what));
  if (missing.length > 0) throw new Error(`acknowledged, and missing: ${missing.join(", ")}`);
}
