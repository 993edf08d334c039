import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";

export interface TemporaryFolder {
  readonly path: string;
  remove(): void;
}

export function temporaryFolder(): TemporaryFolder {
  const path = mkdtempSync(join(tmpdir(), "esim-webhooks-sqlite-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** A new folder for each test. Call it at the top of the file, and read its path in hooks and tests. */
export function folderOfEachTest(): TemporaryFolder {
  let folder: TemporaryFolder;
  beforeEach(() => {
    folder = temporaryFolder();
  });
  afterEach(() => folder.remove());
  return {
    get path() {
      return folder.path;
    },
    remove: () => folder.remove(),
  };
}
