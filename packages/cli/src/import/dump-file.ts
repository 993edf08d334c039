import { constants, createReadStream } from "node:fs";
import { access, rm, stat } from "node:fs/promises";
import { ProgramError } from "../program/program-error.ts";
import type { ImportFlags } from "./flags.ts";

/** The dump, and the files that go with it. */
export interface DumpFile {
  /** For people. */
  readonly name: string;
  readonly input: AsyncIterable<Uint8Array>;
  /** Undefined for what comes by a pipe. */
  readonly totalBytes: number | undefined;
  readonly rejectsFile: string | undefined;
  readonly checkpointFile: string | undefined;
  /** Removes what this has made and nobody needs: an empty rejects file that was not asked for. */
  tidy(): Promise<void>;
}

type FileFlags = Pick<ImportFlags, "rejects" | "checkpoint" | "noCheckpoint" | "dryRun">;

/** Beside a file there are a rejects file and a checkpoint, unless it is a dry run. Throws `unreadable_file` or `invalid_usage`. */
export async function openDump(
  path: string,
  { rejects, checkpoint, noCheckpoint = false, dryRun = false }: FileFlags,
  stdin: NodeJS.ReadStream,
): Promise<DumpFile> {
  if (noCheckpoint && checkpoint !== undefined) {
    throw new ProgramError(
      "invalid_usage",
      "--checkpoint and --no-checkpoint contradict each other.",
      "Leave one out.",
    );
  }
  if (path === "-" && stdin.isTTY) {
    throw new ProgramError(
      "invalid_usage",
      "Nothing is piped in.",
      "Name the dump, or pipe it in: … | esim-webhooks import -",
    );
  }
  const about = path === "-" ? undefined : await readable(path);
  const isFile = about?.isFile() === true;
  const beside = isFile && !dryRun ? path : undefined;
  const rejectsFile = rejects ?? (beside && `${beside}.rejects.ndjson`);
  const checkpointFile = noCheckpoint ? undefined : (checkpoint ?? (beside && `${beside}.checkpoint.json`));
  for (const given of [rejects, checkpoint]) if (given !== undefined) await refuseDump(given, about);
  return {
    name: path === "-" ? "standard input" : path,
    input: path === "-" ? stdin : bytesOf(path),
    totalBytes: isFile ? about.size : undefined,
    rejectsFile,
    checkpointFile,
    async tidy() {
      if (rejects !== undefined || rejectsFile === undefined) return;
      const left = await stat(rejectsFile).catch(() => undefined);
      if (left?.isFile() && left.size === 0) await rm(rejectsFile);
    },
  };
}

/** Opened when it is read, so that nothing waits with it open. */
async function* bytesOf(path: string): AsyncGenerator<Uint8Array> {
  yield* createReadStream(path, { highWaterMark: 256 * 1024 }) as AsyncIterable<Buffer>;
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: "There is no such file",
  ENOTDIR: "There is no such file",
  EACCES: "You may not read it",
};

async function readable(path: string) {
  try {
    const about = await stat(path);
    if (about.isDirectory()) throw Object.assign(new Error("it is a directory"), { code: "EISDIR" });
    await access(path, constants.R_OK);
    return about;
  } catch (cause) {
    const { code = "", message } = cause as NodeJS.ErrnoException;
    const isFolder = code === "EISDIR";
    throw new ProgramError(
      "unreadable_file",
      `${path} cannot be imported. ${isFolder ? "It is a directory" : (reasons[code] ?? message)}.`,
      isFolder ? "Name the dump that is in it." : "Correct its name or its permissions.",
    );
  }
}

/** Else it would be overwritten. */
async function refuseDump(path: string, dump: { ino: number; dev: number } | undefined): Promise<void> {
  const there = await stat(path).catch(() => undefined);
  if (there === undefined || there.ino !== dump?.ino || there.dev !== dump.dev) return;
  throw new ProgramError(
    "invalid_usage",
    `${path} is the dump itself, and would be overwritten.`,
    "Name another file.",
  );
}
