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
   * Its records in order, some at a time. Where the dump cannot be read to its end, throws after everything that can be read:
   * `damaged_dump`, `dump_too_large` or `unknown_dump`.
   */
  readonly batches: AsyncGenerator<readonly RawRecord[]>;
  /** The forms recognised so far, outermost first per entry: `"gzip"`, `"ndjson"`. */
  readonly forms: ReadonlySet<string>;
}

type Batches = AsyncGenerator<readonly RawRecord[]>;

const maxNesting = 3;

/**
 * Reads a dump of any known form, recognised by its content and never by a name: unpacks it, however often it is packed, and
 * splits it into records. Reads nothing before `batches` is read, and then no more than is asked for.
 */
export function readDump(input: AsyncIterable<Uint8Array>, limits: DumpLimits): Dump {
  const forms = new Set<string>();
  const tally = { records: 0 };
  const bounds = createBounds(limits);

  /** Recognise, unpack, split; what is unpacked goes the same way again. */
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
      throw unknownDump(`The dump is packed more than ${maxNesting} times over.`, "Unpack it before.");
    }
    const open = (bytes: AsyncIterable<Buffer>) => byteSource(bytes, bounds.unpacked(nesting));
    if (form === "zip") {
      return eachEntry(
        zipEntries(source),
        ({ bytes }) => open(bytes),
        (bytes, name) => readAll(bytes, nesting + 1, entry === undefined ? name : `${entry}/${name}`),
      );
    }
    const unpacked = open(form === "gzip" ? gunzip(source) : unzstd(source));
    return closing(unpacked, readAll(unpacked, nesting + 1, entry));
  }

  /** An entry that is no dump is a fault among the others' records; a dump that is none is an error. */
  async function* refuse({ seems, remedy }: Unknown, entry?: string): Batches {
    if (entry === undefined) throw unknownDump(`The dump seems to be ${seems}.`, remedy);
    const records = createRecorder(tally, entry);
    records.fault("not_a_record", `the entry seems to be ${seems}, and no dump`, { offset: 0 });
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
