import { open } from "node:fs/promises";
import { join } from "node:path";
import { WebhookError } from "@esim-webhooks/core";
import { makeFolder } from "@esim-webhooks/core/kit";
import { type Database, openDatabase } from "./base/database.ts";
import type { SandboxErrorCode } from "./base/errors.ts";

/** Opens the database in the folder, which is made if it is missing. Throws `unusable_data`. */
export async function openFolder(folder: string): Promise<Database> {
  try {
    await makeFolder(folder);
    const path = join(folder, "sandbox.db");
    await makePrivate(path);
    return openDatabase(path);
  } catch (cause) {
    const [problem, remedy] = isBusy(cause)
      ? [`Another sandbox keeps its state in ${folder}.`, "Stop that one, or name another folder."]
      : [`The state cannot be kept in ${folder}.`, "Name a folder that this user can write to."];
    throw new WebhookError<SandboxErrorCode>("unusable_data", problem, remedy, { cause });
  }
}

/** Secrets are in the file: it is for its owner alone. SQLite gives its own files beside it the same mode. */
async function makePrivate(path: string): Promise<void> {
  const file = await open(path, "a", 0o600);
  try {
    await file.chmod(0o600);
  } finally {
    await file.close();
  }
}

function isBusy(error: unknown): boolean {
  return (error as { errcode?: unknown }).errcode === 5; // SQLITE_BUSY
}
