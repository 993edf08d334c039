import { existsSync, statSync } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import type { SetUpFlags } from "../flags/flag-kinds.ts";
import type { CliContext } from "../program/context.ts";
import { invalidUsage, programError } from "../program/program-error.ts";
import { fileIn } from "../set-up/default-place.ts";
import { nameOfOwn } from "../set-up/named-store.ts";
import { nameOf } from "../set-up/place.ts";
import { folderIn, folderOf, readSetUp } from "../set-up/set-up.ts";
import { bytes } from "../terminal/quantities.ts";
import { sentenceStart } from "../terminal/text.ts";
import type { BackupFlags } from "./flags.ts";

/** Copies the file of an embedded inbox to a new file, also while other processes use the inbox. */
export async function backup(this: CliContext, flags: SetUpFlags & BackupFlags, file: string): Promise<void> {
  const remedy =
    "Back it up with the tools of its database, such as pg_dump; or name an SQLite file with --from.";
  const { path, where } = await embeddedFile(this, flags, remedy);
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

/**
 * The file that `--from` names, else that of the config's own `sqliteInbox`, else the one in the data folder. Throws if the file does
 * not exist: opening it would create it. `otherRemedy`: what to do if the config has another target.
 */
export async function embeddedFile(
  context: CliContext,
  flags: SetUpFlags & BackupFlags,
  otherRemedy: string,
): Promise<EmbeddedFile> {
  if (flags.from !== undefined) return namedFile(context, flags.from, flags);
  const setUp = await readSetUp(context, flags);
  const { file, config } = setUp;
  if (config.target === undefined) {
    const folder = folderIn(setUp.environment, folderOf(context.process, flags.dataDir));
    const path = fileIn(folder);
    return present({ path, where: nameOf(folder) }, join(folder.dataDir, basename(path)), nameIt);
  }
  const where = nameOfOwn("target", setUp);
  const { path } = config.target;
  if (path !== undefined)
    return present({ path, where }, path, `Correct the path in ${file}, or name an SQLite file with --from.`);
  throw invalidUsage(`${sentenceStart(where)} is not an SQLite file.`, otherRemedy);
}

/** The file of `--from`. Throws if it does not exist. */
export function namedFile({ process }: CliContext, from: string, { dataDir }: BackupFlags): EmbeddedFile {
  if (dataDir !== undefined)
    throw invalidUsage("--from and --data-dir both name an inbox.", "Remove one of them.");
  return present({ path: resolve(process.cwd(), from), where: `the inbox in ${from}` }, from, nameIt);
}

const nameIt = "Name the folder of the embedded inbox with --data-dir, or its SQLite file with --from.";

/** The file. Throws if there is none. `shown`: its path in messages. */
function present(file: EmbeddedFile, shown: string, remedy: string): EmbeddedFile {
  if (!existsSync(file.path)) throw programError("unreadable_file", `There is no file ${shown}.`, remedy);
  if (statSync(file.path).isDirectory()) throw invalidUsage(`${shown} is a folder.`, remedy);
  return file;
}
