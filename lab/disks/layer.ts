import { spawnSync } from "node:child_process";
import { ftruncateSync, openSync, readFileSync, readSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { program } from "../../test/servers/binaries.ts";

/** A recorded call, or what the writer has acknowledged at that moment. Paths are absolute. */
export type DiskCall =
  | { readonly call: "write"; readonly inode: string; readonly at: number; readonly data: Buffer }
  | { readonly call: "truncate"; readonly inode: string; readonly at: number }
  | { readonly call: "sync"; readonly inode: string; readonly isFailed: boolean; readonly path: string }
  | { readonly call: "file" | "folder"; readonly inode: string; readonly path: string }
  | { readonly call: "rename" | "link"; readonly from: string; readonly to: string }
  | { readonly call: "remove"; readonly path: string }
  | { readonly call: "acknowledged"; readonly text: string };

/** Faults of a disk: its errno on Linux, whether every later call fails, too, and whether only some kind of calls (`enum kind` of record.h). */
export const diskFaults = {
  "one error": { errno: 5, lasts: false, only: 0 },
  "one failed sync": { errno: 5, lasts: false, only: 1 },
  "no disk": { errno: 5, lasts: true, only: 0 },
  "a full disk": { errno: 28, lasts: true, only: 2 },
} as const;

export type DiskFault = keyof typeof diskFaults;

/** The layer of this process. */
export interface Layer {
  /** Where the writers write. */
  readonly folder: string;
  /** The same files, without a layer: what is done here is not recorded. */
  readonly backing: string;
  /** The fault begins at the call after this number of further ones. */
  arm(calls: number, fault: DiskFault): void;
  disarm(): void;
  /** Adds to the record that something was acknowledged. */
  acknowledge(text: string): void;
  /** The calls since the last time. */
  takeRecord(): readonly DiskCall[];
}

/** Compiles a file of this folder. */
export function compile(source: string, to: string, ...args: readonly string[]): string {
  const compiler = program("gcc", "build-essential", "").path;
  const all = ["-O2", "-o", to, join(import.meta.dirname, source), ...args];
  const { status, stderr } = spawnSync(compiler, all, { encoding: "utf8" });
  if (status !== 0)
    throw new Error(`lab/disks/${source} cannot be compiled. Install a C compiler for Linux. ${stderr}`);
  return to;
}

/** Compiles the layer. Returns the environment of a process that has it, with all its files in this folder. */
export function layerEnvironment(folder: string): Record<string, string> {
  const library = compile("layer.c", join(folder, "layer.so"), "-shared", "-fPIC", "-pthread");
  return { LD_PRELOAD: library, ...recordEnvironment(folder) };
}

/** Creates the files of a record. Returns the environment of a process that writes or reads it. */
export function recordEnvironment(folder: string) {
  const record = join(folder, "record");
  const control = join(folder, "control");
  writeFileSync(record, "");
  writeFileSync(control, Buffer.alloc(5 * 8));
  return { LAB_DISK_FOLDER: join(folder, "disk"), LAB_DISK_RECORD: record, LAB_DISK_CONTROL: control };
}

/** The layer of `layerEnvironment` or `mountDisk`, in a process that has its environment. */
export function loadedLayer(): Layer {
  const { LAB_DISK_FOLDER: folder = "", LAB_DISK_RECORD: file = "", LAB_DISK_CONTROL = "" } = process.env;
  const { LAB_DISK_BACKING: backing = folder } = process.env;
  const [record, control] = [openSync(file, "a+"), openSync(LAB_DISK_CONTROL, "r+")];
  const numbers = new BigInt64Array(5);

  function failAt(step: bigint, { errno, lasts, only }: (typeof diskFaults)[DiskFault]): void {
    numbers.set([step, BigInt(errno), BigInt(lasts), BigInt(only)], 1);
    writeSync(control, numbers, 8, 32, 8);
  }

  return {
    folder,
    backing,
    arm(calls, fault) {
      readSync(control, numbers, 0, 8, 0);
      failAt((numbers[0] ?? 0n) + BigInt(calls) + 1n, diskFaults[fault]);
    },
    disarm: () => failAt(0n, diskFaults["one error"]),
    acknowledge(text) {
      writeSync(record, `acknowledged 0 0 0 ${Buffer.byteLength(text)}\n${text}`);
    },
    takeRecord() {
      const calls = [...callsIn(readFileSync(file))];
      ftruncateSync(record);
      return calls;
    },
  };
}

function* callsIn(record: Buffer): Generator<DiskCall> {
  for (let begin = 0; begin < record.length; ) {
    const end = record.indexOf("\n", begin);
    const [call = "", inode = "", at, error, length] = record.toString("latin1", begin, end).split(" ");
    begin = end + 1 + Number(length);
    yield callOf(call, inode, {
      at: Number(at),
      isFailed: error !== "0",
      data: record.subarray(end + 1, begin),
    });
  }
}

interface CallDetails {
  readonly at: number;
  readonly isFailed: boolean;
  readonly data: Buffer;
}

function callOf(call: string, inode: string, { at, isFailed, data }: CallDetails): DiskCall {
  const text = data.toString("utf8");
  const [path = "", to = ""] = text.split("\0");
  switch (call) {
    case "write":
      return { call, inode, at, data };
    case "truncate":
      return { call, inode, at };
    case "sync":
      return { call, inode, isFailed, path };
    case "file":
    case "folder":
      return { call, inode, path };
    case "rename":
    case "link":
      return { call, from: path, to };
    case "remove":
      return { call, path };
    default:
      return { call: "acknowledged", text };
  }
}
