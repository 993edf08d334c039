import { stat } from "node:fs/promises";
import type { CliContext } from "../program/context.ts";
import { bytes } from "../terminal/quantities.ts";
import { embeddedFile } from "./embedded-file.ts";
import type { BackupFlags } from "./flags.ts";

/** Copies the file of an embedded inbox to another file, while others use it. */
export async function backup(this: CliContext, flags: BackupFlags, file: string): Promise<void> {
  const { path, where } = embeddedFile(this, flags);
  const { sqliteBackup } = await import("@esim-webhooks/store-sqlite");
  await sqliteBackup({ path }, file);
  const { size } = await stat(file);
  if (flags.json) return this.output.json({ file, bytes: size });
  this.output.data(`Backed up ${where} to ${file}: ${bytes(size)}.`);
}
