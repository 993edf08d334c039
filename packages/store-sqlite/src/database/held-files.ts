import { statSync } from "node:fs";
import { FaultError } from "./errors.ts";
import { faultOf, moved } from "./faults.ts";

/**
 * The files that a connection has open. If one of them is removed or replaced, SQLite keeps writing to it, and what it writes is
 * lost. An open file keeps its inode, so another inode at the path is another file.
 */
export interface HeldFiles {
  /** Adds a file that the connection has just opened. */
  hold(file: string): void;
  /** Throws a `FaultError` unless every file is still at its path. After a commit, so that nothing is acknowledged that is lost. */
  check(): void;
  /** Checks only if the last check failed. Before a transaction, so that no more is written where it would be lost. */
  checkAgain(): void;
}

/** `path`: of the database, for messages. */
export function createHeldFiles(path: string): HeldFiles {
  const held: { readonly file: string; readonly dev: bigint; readonly ino: bigint }[] = [];
  let hasFailed = false;

  function identityAt(file: string): { readonly dev: bigint; readonly ino: bigint } | undefined {
    try {
      return statSync(file, { bigint: true, throwIfNoEntry: false });
    } catch (error) {
      throw new FaultError(faultOf(error, path));
    }
  }

  function check(): void {
    hasFailed = true;
    for (const { file, dev, ino } of held) {
      const found = identityAt(file);
      if (found?.ino !== ino || found.dev !== dev) throw new FaultError(moved(file));
    }
    hasFailed = false;
  }

  return {
    hold(file) {
      const found = identityAt(file);
      if (found === undefined) throw new FaultError(moved(file));
      held.push({ file, dev: found.dev, ino: found.ino });
    },
    check,
    checkAgain() {
      if (hasFailed) check();
    },
  };
}
