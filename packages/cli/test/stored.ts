import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Inbox, InboxEntry } from "@esim-webhooks/core";
import { memoryInbox } from "@esim-webhooks/core/testing";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import { onTestFinished } from "vitest";

/** Makes an empty inbox in memory, which the commands of this test have as the target of `memory.config.ts`. */
export function operatedInMemory(): Inbox {
  globalThis.operatedInbox = memoryInbox({ retentionMs: 1 }); // the retention of done ids ends at once
  return globalThis.operatedInbox;
}

/** Stores events in the default inbox of a folder. */
export async function storeAt(cwd: string, entries: readonly InboxEntry[]): Promise<void> {
  const inbox = sqliteInbox({ path: join(cwd, ".esim-webhooks/events.db") });
  await inbox.put(entries);
  await inbox.close();
}

/** Opens the default inbox of a folder in this process, until the test ends. */
export function openedAt(cwd: string): ReturnType<typeof sqliteInbox> {
  const inbox = sqliteInbox({ path: join(cwd, ".esim-webhooks/events.db") });
  onTestFinished(() => inbox.close());
  return inbox;
}

export function configOf(name: "memory" | "postgres" | "slow" | "failing" | "handlers"): string {
  return fileURLToPath(new URL(`fixtures/${name}.config.ts`, import.meta.url));
}
