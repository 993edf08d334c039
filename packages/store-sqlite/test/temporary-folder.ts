import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder of the test's own. */
export function temporaryFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), "esim-webhooks-sqlite-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}
