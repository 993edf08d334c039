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

/** Copies the file of an embedded inbox to another file, while others use it. */
export async function backup(this: CliContext, flags: SetUpFlags & BackupFlags, file: string): Promise<void> {
  const { path, where } = await embeddedFile(this, flags);
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
 * The file that `--from` names, else that of the config's own `sqliteInbox`, else the one in the data folder. Throws when there is
 * none: opening it would create one.
 */
export async function embeddedFile(
  context: CliContext,
  flags: SetUpFlags & BackupFlags,
): Promise<EmbeddedFile> {
  const { path, shown, where } =
    flags.from === undefined ? await ownFile(context, flags) : namedFile(context, flags.from, flags);
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
  return { path, where };
}

/** A file, and its path as messages show it. */
interface ShownFile extends EmbeddedFile {
  readonly shown: string;
}

function namedFile({ process }: CliContext, from: string, { dataDir }: BackupFlags): ShownFile {
  if (dataDir !== undefined)
    throw invalidUsage("--from and --data-dir both name an inbox.", "Remove one of them.");
  return { path: resolve(process.cwd(), from), shown: from, where: `the inbox in ${from}` };
}

async function ownFile(context: CliContext, flags: SetUpFlags): Promise<ShownFile> {
  const setUp = await readSetUp(context, flags);
  const { target } = setUp.config;
  if (target === undefined) {
    const folder = folderIn(setUp.environment, folderOf(context.process, flags.dataDir));
    const path = fileIn(folder);
    return { path, shown: join(folder.dataDir, basename(path)), where: nameOf(folder) };
  }
  const where = nameOfOwn("target", setUp);
  if (target.path !== undefined) return { path: target.path, shown: target.path, where };
  throw invalidUsage(
    `${sentenceStart(where)} is not an SQLite file.`,
    "Back it up with the tools of its database, such as pg_dump; or name an SQLite file with --from.",
  );
}
