import type { Lifecycle } from "@esim-webhooks/core";
import { namingStore, type OwnStore } from "./named-store.ts";
import type { SetUp } from "./set-up.ts";

/**
 * Migrates and checks what was opened, and closes it if that fails. Several processes can migrate at the same time. A migrated
 * database is not changed. `own` is the option of the config that holds it; default: that of the target.
 */
export async function prepared<Open extends { close(): Promise<void> }>(
  setUp: SetUp,
  open: Open,
  opened: Partial<Lifecycle>,
  own?: OwnStore,
): Promise<Open> {
  try {
    await opened.migrate?.();
    await opened.ready?.();
    return open;
  } catch (error) {
    await open.close().catch(() => {}); // report the first error
    throw namingStore(error, setUp, own);
  }
}
