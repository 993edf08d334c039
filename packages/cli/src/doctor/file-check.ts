import { stat } from "node:fs/promises";
import type { WebhookError } from "@esim-webhooks/core";
import { pageOf } from "@esim-webhooks/core/kit";
import { errorCodeOf } from "../program/exit-code.ts";
import { bytes } from "../terminal/quantities.ts";
import { type Check, failed, passed } from "./check.ts";

/** A larger file takes too long to read: a gigabyte takes about a second when it is in memory, and as long as the disk takes when it is not. */
const mostBytes = 1024 ** 3;

/** Looks for damage in the file of the embedded inbox, which opens well as long as nobody needs the damaged part. */
export async function checkFile(path: string, most: number = mostBytes): Promise<Check> {
  const { size } = await stat(path);
  if (size > most) {
    return passed(
      "file",
      `${path} was not searched for damage, since it has ${bytes(size)}: sqlite3 ${path} "pragma quick_check(1)" reads all of it`,
    );
  }
  const { sqliteCheck } = await import("@esim-webhooks/store-sqlite");
  try {
    await sqliteCheck({ path });
    return passed("file", `no damage in the ${bytes(size)} of ${path}`);
  } catch (error) {
    const code = errorCodeOf(error);
    if (code !== "database_corrupt") throw error;
    const { problem } = error as WebhookError; // its remedy is for code
    return {
      ...failed(
        "file",
        `${problem} Stop what uses it, keep a copy, and restore a backup: ${pageOf("docs/runbook.md")} says how under "We lost the database". What came after the backup, esim-webhooks reconcile brings in.`,
      ),
      code,
    };
  }
}
