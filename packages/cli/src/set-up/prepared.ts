import type { Lifecycle } from "@esim-webhooks/core";
import { namingStore, type OwnStore } from "./named-store.ts";
import type { SetUp } from "./set-up.ts";

/** Runs work that fails while a database is unreachable: only once, or again until it succeeds. */
export type Patience = (work: () => Promise<void>) => Promise<void>;

const once: Patience = (work) => work();

export interface PreparedOptions {
  /** The option of the config that holds what was opened. Default: `target` or `store`, if the config has it. */
  readonly own?: OwnStore | undefined;
  /** Default: once. */
  readonly patience?: Patience | undefined;
}

/**
 * Migrates and checks what was opened, and closes it if that fails. Several processes can migrate at the same time. A migrated
 * database is not changed.
 */
export async function prepared<Open extends { close(): Promise<void> }>(
  setUp: SetUp,
  open: Open,
  opened: Partial<Lifecycle>,
  { own, patience = once }: PreparedOptions = {},
): Promise<Open> {
  try {
    await patience(async () => {
      try {
        await opened.migrate?.();
        await opened.ready?.();
      } catch (error) {
        throw namingStore(error, setUp, own);
      }
    });
    return open;
  } catch (error) {
    await open.close().catch(() => {}); // report the first error
    throw error;
  }
}
