import { join } from "node:path";
import { WebhookError } from "@esim-webhooks/core";
import { makeFolder } from "@esim-webhooks/core/kit";
import { type Database, openDatabase } from "./base/database.ts";
import type { SandboxErrorCode } from "./errors.ts";

/** Opens the database in the folder, which is made if it is missing. Throws `unusable_data`. */
export async function openFolder(folder: string): Promise<Database> {
  try {
    await makeFolder(folder);
    return openDatabase(join(folder, "sandbox.db"));
  } catch (cause) {
    const [problem, remedy] = isBusy(cause)
      ? [`Another sandbox keeps its state in ${folder}.`, "Stop that one, or name another folder."]
      : [`The state cannot be kept in ${folder}.`, "Name a folder that this user can write to."];
    throw new WebhookError<SandboxErrorCode>("unusable_data", problem, remedy, { cause });
  }
}

function isBusy(error: unknown): boolean {
  return (error as { errcode?: unknown }).errcode === 5; // SQLITE_BUSY
}
