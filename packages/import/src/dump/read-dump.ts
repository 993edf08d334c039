import { createBounds } from "./bounds.ts";
import { type ByteSource, byteSource } from "./byte-source.ts";
import { unknownDump } from "./damage.ts";
import { eachEntry } from "./each-entry.ts";
import { gunzip } from "./gzip.ts";
import { isPacking, type Packing, recognise, type Unknown } from "./recognise.ts";
import type { DumpLimits, RawRecord } from "./record.ts";
import { createRecorder } from "./recorder.ts";
import { split } from "./split.ts";
import { zipEntries } from "./zip.ts";
import { unzstd } from "./zstd.ts";

/** A dump that is being read. */
export interface Dump {
  /**
   * Its records in order, in batches. Throws `damaged_dump`, `dump_too_large` or `unknown_dump` after everything that can
   * be read.
   */
  readonly batches: AsyncGenerator<readonly RawRecord[]>;
  /** The formats detected so far, the outermost first: `"gzip"`, `"ndjson"`. */
  readonly forms: ReadonlySet<string>;
}

type Batches = AsyncGenerator<readonly RawRecord[]>;

const maxNesting = 3;

/**
 * Reads a dump of any known format: detects it from the content, never from a file name, unpacks it, even if it is packed
 * several times, and splits it into records. Reads the input only as `batches` is read.
 */
export function readDump(input: AsyncIterable<Uint8Array>, limits: DumpLimits): Dump {
  const forms = new Set<string>();
  const tally = { records: 0 };
  const bounds = createBounds(limits);

  /** Detects the format, then unpacks or splits. Unpacked bytes are read in the same way. */
  async function* readAll(source: ByteSource, nesting: number, entry?: string): Batches {
    const recognised = await recognise(source);
    if (recognised.form === "empty") return void (await source.skip(Number.POSITIVE_INFINITY));
    if (recognised.form === "unknown") return yield* refuse(recognised, entry);
    forms.add(recognised.form);
    if (isPacking(recognised)) yield* unpack(recognised, source, nesting, entry);
    else yield* split(source, recognised, createRecorder(tally, entry), limits);
  }

  function unpack({ form }: Packing, source: ByteSource, nesting: number, entry?: string): Batches {
    if (nesting === maxNesting) {
      throw unknownDump(`The dump is packed more than ${maxNesting} times.`, "Unpack it first.");
    }
    const unpacking = bounds.unpacked(nesting);
    const open = (bytes: AsyncIterable<Buffer>) => byteSource(bytes, unpacking.bytes);
    if (form === "zip") {
      return eachEntry(
        zipEntries(source, unpacking.part),
        ({ bytes }) => open(bytes),
        (bytes, name) => readAll(bytes, nesting + 1, entry === undefined ? name : `${entry}/${name}`),
      );
    }
    const unpacked = open((form === "gzip" ? gunzip : unzstd)(source, unpacking.part));
    return closing(unpacked, readAll(unpacked, nesting + 1, entry));
  }

  /** In an archive, an entry of an unknown format is a fault; outside one, it is an error. */
  async function* refuse({ seems, remedy }: Unknown, entry?: string): Batches {
    if (entry === undefined) throw unknownDump(`The dump seems to be ${seems}.`, remedy);
    const records = createRecorder(tally, entry);
    records.fault("not_a_record", `the entry is not a dump: it seems to be ${seems}`, { offset: 0 });
    yield records.take();
  }

  const source = byteSource(input, bounds.packed);
  return { batches: closing(source, readAll(source, 0)), forms };
}

async function* closing(source: ByteSource, batches: Batches): Batches {
  try {
    yield* batches;
  } finally {
    await source.close();
  }
}
