import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, onTestFinished } from "vitest";

export interface TemporaryFolder {
  readonly path: string;
  remove(): void;
}

export function temporaryFolder(): TemporaryFolder {
  const path = mkdtempSync(join(tmpdir(), "esim-webhooks-sqlite-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/**
 * A new folder for each test. Call it at the top of the file, and read its path in hooks and tests. It is removed as the
 * last thing of the test: after `afterEach` and after each `onTestFinished`, where stores are closed.
 */
export function folderOfEachTest(): TemporaryFolder {
  let folder: TemporaryFolder;
  beforeEach(() => {
    const made = temporaryFolder();
    folder = made;
    onTestFinished(() => made.remove());
  });
  return {
    get path() {
      return folder.path;
    },
    remove: () => folder.remove(),
  };
}
