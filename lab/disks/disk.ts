import { lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import type { DiskCall } from "./layer.ts";

/** Decides for each change that was not synced whether it is on the disk after the power cut. */
export interface Survival {
  /** Whether the change of a name survives. */
  name(): boolean;
  /** Whether a write survives, or the truncation of a file. */
  data(): boolean;
  /** Whether `data` decides on each sector of a write. */
  readonly tears: boolean;
}

/** A file or a folder that is on the disk, with all that it has. */
export interface Stored {
  readonly inode: string;
  readonly content: Buffer | ReadonlyMap<string, Stored>;
}

export function readStored(path: string): Stored {
  const file = lstatSync(path);
  const entries = () => readdirSync(path).map((name) => [name, readStored(join(path, name))] as const);
  return { inode: `${file.ino}`, content: file.isDirectory() ? new Map(entries()) : readFileSync(path) };
}

/** A disk that knows what was synced, fed with the calls of a process. */
export interface Disk {
  apply(call: DiskCall): void;
  /** Writes the files that are there after a power cut to a new folder. */
  restore(to: string, survival: Survival): void;
}

interface Change {
  readonly at: number;
  /** Undefined if the file was truncated to `at`. */
  readonly data: Buffer | undefined;
  /** `lost`: a sync of it has failed, and Linux does not write it again at the next one. */
  state: "written" | "synced" | "lost";
}

interface File {
  readonly changes: Change[];
}

interface Folder {
  readonly entries: Map<string, File | Folder>;
  /** The entries before the first call. */
  readonly begun: ReadonlyMap<string, File | Folder>;
}

interface Name {
  readonly folder: Folder;
  readonly name: string;
}

/** A rename gives a name and removes one: after a cut, there are both changes or neither. */
interface NameChange {
  readonly node: File | Folder;
  readonly removed: Name | undefined;
  readonly given: Name | undefined;
  isSynced: boolean;
}

const sectorBytes = 512;

/**
 * A disk with the folder `begun`, whose path is `root`. The disk loses as much as POSIX allows, with two exceptions, as on file systems with a journal: the
 * changes of a file's names stay in their order, and a sync of one of the folders of a rename suffices. A sync of a file does not
 * keep its name: that takes a sync of its folder.
 */
export function createDisk(root: string, begun: Stored): Disk {
  const nodes = new Map<string, File | Folder>();
  const top = load(begun) as Folder;
  const nameChanges: NameChange[] = [];

  function load({ inode, content }: Stored): File | Folder {
    const node = Buffer.isBuffer(content)
      ? fileOf(content)
      : folderOf(Array.from(content, ([name, stored]) => [name, load(stored)]));
    nodes.set(inode, node);
    return node;
  }

  function nameAt(path: string): Name {
    const folders = relative(root, dirname(path)).split("/").filter(Boolean);
    let folder = top;
    for (const name of folders) folder = folder.entries.get(name) as Folder;
    return { folder, name: basename(path) };
  }

  function changeName(node: File | Folder, removed: Name | undefined, given: Name | undefined): void {
    removed?.folder.entries.delete(removed.name);
    given?.folder.entries.set(given.name, node);
    nameChanges.push({ node, removed, given, isSynced: false });
  }

  function add(inode: string, path: string, node: File | Folder): void {
    nodes.set(inode, node);
    changeName(node, undefined, nameAt(path));
  }

  function nodeAt({ folder, name }: Name): File | Folder {
    const node = folder.entries.get(name);
    if (node === undefined) throw new Error(`The record has no file ${name}. Correct lab/disks/layer.c.`);
    return node;
  }

  function changesOf(inode: string): Change[] {
    const node = nodes.get(inode);
    if (node === undefined || "entries" in node)
      throw new Error(`The record has no file with the inode ${inode}. Correct lab/disks/layer.c.`);
    return node.changes;
  }

  return {
    apply(call) {
      switch (call.call) {
        case "write":
          changesOf(call.inode).push({ at: call.at, data: call.data, state: "written" });
          break;
        case "truncate":
          changesOf(call.inode).push({ at: call.at, data: undefined, state: "written" });
          break;
        case "file":
          add(call.inode, call.path, { changes: [] });
          break;
        case "folder":
          add(call.inode, call.path, folderOf([]));
          break;
        case "link":
          changeName(nodeAt(nameAt(call.from)), undefined, nameAt(call.to));
          break;
        case "rename":
          changeName(nodeAt(nameAt(call.from)), nameAt(call.from), nameAt(call.to));
          break;
        case "remove":
          changeName(nodeAt(nameAt(call.path)), nameAt(call.path), undefined);
          break;
        case "sync": {
          const node = nodes.get(call.inode);
          if (node === undefined) break; // a folder above
          if ("entries" in node) {
            if (!call.isFailed) syncNames(nameChanges, node);
          } else {
            const state = call.isFailed ? "lost" : "synced";
            for (const change of node.changes) if (change.state === "written") change.state = state;
          }
        }
      }
    },
    restore(to, survival) {
      write(to, top, entriesAfter(nameChanges, survival), survival);
    },
  };
}

function fileOf(content: Buffer): File {
  return { changes: [{ at: 0, data: content, state: "synced" }] };
}

function folderOf(entries: readonly (readonly [string, File | Folder])[]): Folder {
  return { entries: new Map(entries), begun: new Map(entries) };
}

function syncNames(changes: readonly NameChange[], folder: Folder): void {
  const nodes = new Set<File | Folder>();
  for (const change of changes.toReversed()) {
    const { node, removed, given } = change;
    if (removed?.folder !== folder && given?.folder !== folder && !nodes.has(node)) continue;
    change.isSynced = true;
    nodes.add(node); // the earlier changes of its names are in the journal before this one
  }
}

type Entries = Map<Folder, Map<string, File | Folder>>;

function entriesAfter(changes: readonly NameChange[], { name }: Survival): Entries {
  const entries: Entries = new Map();
  const entriesOf = (folder: Folder) => {
    const known = entries.get(folder) ?? new Map(folder.begun);
    entries.set(folder, known);
    return known;
  };
  const late = new Set<File | Folder>();
  for (const { node, removed, given, isSynced } of changes) {
    if (!isSynced && (late.has(node) || !name())) {
      late.add(node);
      continue;
    }
    if (removed) entriesOf(removed.folder).delete(removed.name);
    if (given) entriesOf(given.folder).set(given.name, node);
  }
  return entries;
}

function write(path: string, folder: Folder, entries: Entries, survival: Survival): void {
  mkdirSync(path, { mode: 0o700 });
  for (const [name, node] of entries.get(folder) ?? folder.begun) {
    const place = join(path, name);
    if ("entries" in node) write(place, node, entries, survival);
    else writeFileSync(place, contentOf(node.changes, survival), { mode: 0o600 });
  }
}

function contentOf(changes: readonly Change[], { data: survives, tears }: Survival): Buffer {
  const content = Buffer.alloc(Math.max(0, ...changes.map(({ at, data }) => at + (data?.length ?? 0))));
  let length = 0;
  const keep = (data: Buffer, at: number) => {
    data.copy(content, at);
    length = Math.max(length, at + data.length);
  };
  for (const { at, data, state } of changes) {
    if (data !== undefined && tears && state !== "synced") {
      for (const [part, begin] of sectors(data, at)) if (survives()) keep(part, begin);
    } else if (state !== "synced" && !survives()) {
    } else if (data === undefined) {
      content.fill(0, at);
      length = at;
    } else keep(data, at);
  }
  return content.subarray(0, length);
}

function* sectors(data: Buffer, at: number): Generator<[part: Buffer, at: number]> {
  for (let begin = 0; begin < data.length; ) {
    const end = Math.min(data.length, begin + sectorBytes - ((at + begin) % sectorBytes));
    yield [data.subarray(begin, end), at + begin];
    begin = end;
  }
}
