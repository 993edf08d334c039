import { WebhookError } from "@esim-webhooks/core";
import { type ByteSource, byteSource } from "./byte-source.ts";
import { createCsvReader } from "./csv.ts";
import { getAgain, getRestAgain, unknownDump } from "./errors.ts";
import { gunzip } from "./gzip.ts";
import { createHarReader } from "./har.ts";
import { createJsonLines } from "./json-lines.ts";
import { createJsonScanner } from "./json-scanner.ts";
import { isPacking, isUtf16, type Packing, recognise, type TextForm, type Unknown } from "./recognise.ts";
import { createRecorder, type DumpLimits, type RawRecord, type Recorder, type Splitter } from "./record.ts";
import { createBounds, createParts, isDamage, type Parts } from "./unpacking.ts";
import { utf8Of } from "./utf16.ts";
import { type ZipEntry, zipEntries } from "./zip.ts";
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
 * Reads a dump of any known format: detects the format from the content, never from a file name, unpacks the dump, at most three
 * times, and splits it into records. Reads the input only as `batches` is read.
 */
export function readDump(input: AsyncIterable<Uint8Array>, limits: DumpLimits): Dump {
  const forms = new Set<string>();
  const tally = { records: 0 };
  const bounds = createBounds(limits);

  /** Detects the format, then unpacks or splits. Unpacked bytes are read in the same way. */
  async function* readAll(source: ByteSource, nesting: number, entry?: string, gaps: number[] = []): Batches {
    const recognised = await recognise(source);
    if (recognised.form === "empty") return void (await source.skip(Number.POSITIVE_INFINITY));
    if (recognised.form === "unknown") return yield* refuse(recognised, entry);
    forms.add(recognised.form);
    if (isUtf16(recognised)) {
      return yield* readAll(byteSource(utf8Of(source, recognised.form, gaps)), nesting, entry);
    }
    if (isPacking(recognised)) yield* unpack(recognised, source, nesting, entry);
    else yield* split(source, recognised, createRecorder(tally, entry), limits, gaps);
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
    const parts = form === "gzip" ? createParts("gzip file", "member") : createParts("zstd file", "frame");
    const unpacked = open((form === "gzip" ? gunzip : unzstd)(source, unpacking.part, parts));
    return closing(unpacked, readOn(unpacked, parts, readAll(unpacked, nesting + 1, entry, parts.gaps)));
  }

  /** Handles an unknown format: that of an entry of an archive is a fault, that of the whole dump an error. */
  async function* refuse({ seems, remedy }: Unknown, entry?: string): Batches {
    if (entry === undefined) throw unknownDump(`The dump seems to be ${seems}.`, remedy);
    const records = createRecorder(tally, entry);
    records.fault("not_a_record", `the entry is not a dump: it seems to be ${seems}`, { offset: 0 });
    yield records.take();
  }

  const source = byteSource(input, bounds.packed);
  return { batches: closing(source, readAll(source, 0)), forms };
}

/** Closes the source when the reader of the batches stops. */
async function* closing(source: ByteSource, batches: Batches): Batches {
  try {
    yield* batches;
  } finally {
    await source.close();
  }
}

/** After an error in the text of a damaged file, unpacks the rest of the file. Then throws the file's own error, which counts what was unpacked, with the problem of the text. */
async function* readOn(source: ByteSource, parts: Parts, batches: Batches): Batches {
  try {
    yield* batches;
  } catch (error) {
    if (!isDamage(error) || !parts.isDamaged()) throw error;
    await source.skip(Number.POSITIVE_INFINITY).catch((outer: unknown) => {
      if (!isDamage(outer) || outer === error) throw outer;
      throw new WebhookError<string>(outer.code, `${outer.problem} ${error.problem}`, outer.remedy, {
        cause: outer,
      });
    });
    throw error;
  }
}

/**
 * Reads every entry of an archive that can be read. A `damaged_dump` or `unknown_dump` of one entry does not stop the others: the
 * first such error is thrown at the end, with a count of the others and the error of the archive. Any other error is thrown
 * immediately.
 */
async function* eachEntry(
  entries: AsyncIterable<ZipEntry>,
  open: (entry: ZipEntry) => ByteSource,
  read: (source: ByteSource, name: string) => Batches,
): Batches {
  const errors = new Map<ZipEntry | "archive", WebhookError<string>>();
  let isContinued = false;
  const noteFor = (part: ZipEntry | "archive") => (error: unknown) => {
    if (!isDamage(error)) throw error;
    if (!errors.has(part)) errors.set(part, error);
  };
  try {
    for await (const entry of entries) {
      const source = open(entry);
      const note = noteFor(entry);
      isContinued ||= errors.size > 0;
      try {
        try {
          yield* read(source, entry.name);
        } catch (error) {
          note(error);
        }
        // the rest of the entry must be read to verify its checksum and to find the next entry
        await source.skip(Number.POSITIVE_INFINITY).catch(note);
      } finally {
        await source.close();
      }
    }
  } catch (error) {
    noteFor("archive")(error);
  }
  const archive = errors.get("archive");
  errors.delete("archive");
  const [first, ...others] = errors.values();
  if (first === undefined && archive === undefined) return;
  if (first === undefined) throw archive;
  const more = others.length === 1 ? "1 more entry" : `${others.length} more entries`;
  const problem = [
    first.problem,
    ...(others.length > 0 ? [`${more} cannot be read, or only in part.`] : []),
    ...(archive === undefined ? [] : [archive.problem]),
  ].join(" ");
  const remedy = isContinued && first.remedy === getAgain ? getRestAgain : first.remedy;
  throw new WebhookError<string>(first.code, problem, remedy, { cause: first });
}

/**
 * Splits text into records, one batch per chunk. Yields all records before an error, then throws it.
 * @param gaps the offsets at which bytes are missing; unpacking adds more
 */
async function* split(
  source: ByteSource,
  text: TextForm,
  records: Recorder,
  limits: DumpLimits,
  gaps: number[],
): Batches {
  const splitter = splitterOf(text, records, limits);
  let failure: { readonly error: unknown } | undefined;
  const next = () => {
    const gap = gaps.find((at) => at > source.taken());
    return source.next(gap && gap - source.taken()).catch((error: unknown) => {
      splitter.cut?.();
      failure = { error };
      return undefined;
    });
  };
  const passGap = (at: number) => {
    for (; gaps[0] !== undefined && gaps[0] <= at; gaps.shift()) splitter.gap();
  };
  try {
    for (let bytes = await next(); bytes; bytes = await next()) {
      passGap(source.taken() - bytes.byteLength);
      splitter.write(bytes);
      const batch = records.take();
      if (batch.length > 0) yield batch;
    }
    if (!failure) splitter.end();
  } catch (error) {
    failure = { error };
  }
  const batch = records.take();
  if (batch.length > 0) yield batch;
  if (failure) throw failure.error;
}

function splitterOf(text: TextForm, records: Recorder, limits: DumpLimits): Splitter {
  switch (text.form) {
    case "ndjson":
      return createJsonLines(records, limits, text.start, text.newline);
    case "json":
      return createJsonScanner(records, limits, text.start);
    case "har":
      return createHarReader(records, limits, text.start);
    case "csv":
      return createCsvReader(records, limits, text.header, text.start, text.newline);
  }
}
