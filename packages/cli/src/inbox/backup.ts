import { existsSync, statSync } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import type { CliContext } from "../program/context.ts";
import { invalidUsage, programError } from "../program/program-error.ts";
import { fileIn } from "../set-up/default-place.ts";
import { nameOf } from "../set-up/place.ts";
import { folderOf } from "../set-up/set-up.ts";
import { bytes } from "../terminal/quantities.ts";
import type { BackupFlags } from "./flags.ts";

/** Copies the file of an embedded inbox to another file, while others use it. */
export async function backup(this: CliContext, flags: BackupFlags, file: string): Promise<void> {
  const { path, where } = embeddedFile(this, flags);
  const copy = resolve(this.process.cwd(), file);
  const { sqliteBackup } = await import("@esim-webhooks/store-sqlite");
  await sqliteBackup({ path }, copy);
  const { size } = await stat(copy);
  if (flags.json) return this.output.json({ file, bytes: size });
  this.output.data(`Backed up ${where} to ${file}: ${bytes(size)}.`);
}

/** The file of an embedded inbox. `where` is for messages. */
export interface EmbeddedFile {
  readonly path: string;
  readonly where: string;
}

/** The file that the flags name, else the default one. Throws when there is none: opening it would create one. */
export function embeddedFile(context: CliContext, { from, dataDir }: BackupFlags): EmbeddedFile {
  if (from !== undefined && dataDir !== undefined) {
    throw invalidUsage("--from and --data-dir both name an inbox.", "Remove one of them.");
  }
  const { process } = context;
  const folder = folderOf(process, dataDir);
  const path = from === undefined ? fileIn(folder) : resolve(process.cwd(), from);
  const shown = from ?? join(folder.dataDir, basename(path));
  if (!existsSync(path)) {
    throw programError(
      "unreadable_file",
      `There is no file ${shown}.`,
      "Name the folder of the embedded inbox with --data-dir, or its SQLite file with --from.",
    );
  }
  if (statSync(path).isDirectory()) {
    throw invalidUsage(
      `${shown} is a folder.`,
      "Name the SQLite file in it with --from, or the folder of the embedded inbox with --data-dir.",
    );
  }
  return { path, where: from === undefined ? nameOf(folder) : `the inbox in ${from}` };
}
