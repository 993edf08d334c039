import { ProgramError } from "./program-error.ts";

/** A full disk or quota as every command reports it; undefined for any other error. `path`: what had no room. */
export function fullDisk(error: unknown, path?: string): ProgramError | undefined {
  if (!isFullDisk(error)) return undefined;
  const what = path ?? (error as NodeJS.ErrnoException).path ?? "a file";
  return new ProgramError(
    "store_full",
    `There is no room left for ${what}.`,
    "Free space on its disk, or raise the quota.",
    { cause: error },
  );
}

/** Whether it is the system's error for a full disk or quota. */
export function isFullDisk(error: unknown): boolean {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  return code === "ENOSPC" || code === "EDQUOT";
}
