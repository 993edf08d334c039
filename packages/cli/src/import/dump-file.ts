import { constants, createReadStream } from "node:fs";
import { access, rm, stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { CliProcess } from "../program/context.ts";
import { invalidUsage, programError } from "../program/program-error.ts";
import type { ImportFlags } from "./flags.ts";

/** The dump, and the files that go with it. */
export interface DumpFile {
  /** The path as the user wrote it, or "standard input". */
  readonly name: string;
  readonly input: AsyncIterable<Uint8Array>;
  /** Undefined for a pipe. */
  readonly totalBytes: number | undefined;
  readonly rejectsFile: string | undefined;
  readonly checkpointFile: string | undefined;
  /** The absolute paths of the rejects file and the checkpoint. */
  readonly written: Pick<DumpFile, "rejectsFile" | "checkpointFile">;
  /** Removes the rejects file when it is empty, unless the user named it with --rejects. */
  removeEmptyRejects(): Promise<void>;
}

type FileFlags = Pick<ImportFlags, "rejects" | "checkpoint" | "noCheckpoint" | "dryRun">;

/** The rejects file and the checkpoint are next to the dump by default; a pipe or a dry run has only those of flags. Throws `unreadable_file` or `invalid_usage`. */
export async function openDump(
  path: string,
  { rejects, checkpoint, noCheckpoint = false, dryRun = false }: FileFlags,
  { stdin, cwd }: Pick<CliProcess, "stdin" | "cwd">,
): Promise<DumpFile> {
  const inFolder = (file: string) => resolve(cwd(), file);
  if (noCheckpoint && checkpoint !== undefined) {
    throw invalidUsage("--checkpoint and --no-checkpoint contradict each other.", "Remove one of them.");
  }
  if (path === "-" && stdin.isTTY) {
    throw invalidUsage(
      "Standard input is a terminal, so there is no dump to read.",
      "Name the dump's file, or pipe it in: … | esim-webhooks import -",
    );
  }
  const stats = path === "-" ? undefined : await statReadable(path, inFolder(path));
  const isFile = stats?.isFile() === true;
  const base = isFile && !dryRun ? path : undefined;
  const rejectsFile = rejects ?? (base && `${base}.rejects.ndjson`);
  const checkpointFile = noCheckpoint ? undefined : (checkpoint ?? (base && `${base}.checkpoint.json`));
  for (const file of [rejects, checkpoint])
    if (file !== undefined) await refuseOverwrite(file, inFolder(file), stats);
  return {
    name: path === "-" ? "standard input" : path,
    input: path === "-" ? stdin : bytesOf(inFolder(path)),
    totalBytes: isFile ? stats.size : undefined,
    rejectsFile,
    checkpointFile,
    written: {
      rejectsFile: rejectsFile && inFolder(rejectsFile),
      checkpointFile: checkpointFile && inFolder(checkpointFile),
    },
    async removeEmptyRejects() {
      if (rejects !== undefined || rejectsFile === undefined) return;
      const left = await stat(inFolder(rejectsFile)).catch(() => undefined);
      if (left?.isFile() && left.size === 0) await rm(inFolder(rejectsFile));
    },
  };
}

/** Opens the file only when it is read. */
async function* bytesOf(path: string): AsyncGenerator<Uint8Array> {
  yield* createReadStream(path, { highWaterMark: 256 * 1024 }) as AsyncIterable<Buffer>;
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: "There is no such file",
  ENOTDIR: "There is no such file",
  EACCES: "You have no permission to read it",
};

async function statReadable(shown: string, path: string) {
  try {
    const stats = await stat(path);
    if (stats.isDirectory()) throw Object.assign(new Error("it is a directory"), { code: "EISDIR" });
    await access(path, constants.R_OK);
    return stats;
  } catch (cause) {
    const { code = "", message } = cause as NodeJS.ErrnoException;
    const isFolder = code === "EISDIR";
    throw programError(
      "unreadable_file",
      `${shown} cannot be imported. ${isFolder ? "It is a directory" : (reasons[code] ?? message)}.`,
      isFolder ? "Name a file in it." : "Correct its name or its permissions.",
    );
  }
}

/** Throws `invalid_usage` when the file is the dump itself. */
async function refuseOverwrite(
  shown: string,
  path: string,
  dump: { ino: number; dev: number } | undefined,
): Promise<void> {
  const there = await stat(path).catch(() => undefined);
  if (there === undefined || there.ino !== dump?.ino || there.dev !== dump.dev) return;
  throw invalidUsage(`${shown} is the dump itself, and would be overwritten.`, "Name another file.");
}
