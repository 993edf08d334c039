import type { DiskEvent } from "./disk-trace.ts";

type Change = Extract<DiskEvent, { readonly kind: "write" | "truncate" }>;

interface FileChanges {
  readonly changes: Change[];
  /** How many of them are on the disk for sure. */
  synced: number;
}

/** A disk that knows what was synced, fed with the calls of a process. */
export interface TracedDisk {
  apply(event: DiskEvent): void;
  /** Its files after a power cut: of what was not synced, those changes are there that `survives` says. */
  afterCut(survives: () => boolean): ReadonlyMap<string, Buffer>;
}

/** `initial`: the files that were on it before. */
export function createTracedDisk(initial: ReadonlyMap<string, Buffer>): TracedDisk {
  const files = new Map<string, FileChanges>();
  for (const [file, data] of initial)
    files.set(file, { changes: [{ kind: "write", file, offset: 0, data }], synced: 1 });
  const syncing = new Map<string, number>();

  function changesOf(file: string): FileChanges {
    const known = files.get(file) ?? { changes: [], synced: 0 };
    files.set(file, known);
    return known;
  }

  return {
    apply(event) {
      switch (event.kind) {
        case "write":
        case "truncate":
          changesOf(event.file).changes.push(event);
          break;
        case "sync_begun":
          syncing.set(event.thread, changesOf(event.file).changes.length);
          break;
        case "synced":
          changesOf(event.file).synced = syncing.get(event.thread) ?? 0; // what was written meanwhile may not be in it
          break;
        case "remove":
          files.delete(event.file);
      }
    },
    afterCut: (survives) =>
      new Map(
        [...files].map(([file, { changes, synced }]) => [
          file,
          contentOf(changes.filter((_, index) => index < synced || survives())),
        ]),
      ),
  };
}

function contentOf(changes: readonly Change[]): Buffer {
  const ends = changes.map((change) =>
    change.kind === "truncate" ? change.size : change.offset + change.data.length,
  );
  const content = Buffer.alloc(Math.max(0, ...ends));
  let length = 0;
  for (const change of changes) {
    if (change.kind === "write") {
      change.data.copy(content, change.offset);
      length = Math.max(length, change.offset + change.data.length);
    } else {
      content.fill(0, change.size);
      length = change.size;
    }
  }
  return content.subarray(0, length);
}
