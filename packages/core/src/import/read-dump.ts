import { createBounds } from "./bounds.ts";
import { type ByteSource, byteSource } from "./byte-source.ts";
import { unknownDump } from "./damage.ts";
import { gunzip } from "./gzip.ts";
import { createJsonLines } from "./json-lines.ts";
import { createJsonScanner, type Splitter } from "./json-scanner.ts";
import { recognise } from "./recognise.ts";
import type { DumpLimits, RawRecord } from "./record.ts";
import { createRecorder, type Recorder } from "./recorder.ts";

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
 * Reads a dump of any known form, recognised by its content and never by a name: unpacks it, however often it is packed,
 * and splits it into records. Nothing is read before `batches` is, and nothing more than it needs.
 */
export function readDump(input: AsyncIterable<Uint8Array>, limits: DumpLimits): Dump {
  const forms = new Set<string>();
  const tally = { records: 0 };
  const bounds = createBounds(limits);

  async function* whole(): Batches {
    yield* readBytes(byteSource(input, bounds.packed), 0);
  }

  /** Recognise, unpack, split; what is unpacked goes the same way again. */
  async function* readBytes(bytes: ByteSource, nesting: number, entry?: string): Batches {
    try {
      const recognised = await recognise(bytes);
      if ("seems" in recognised) {
        throw unknownDump(
          `The dump seems to be ${recognised.seems}.`,
          "Give NDJSON, JSON or CSV, plain or packed with gzip, zstd or ZIP.",
        );
      }
      const { form } = recognised;
      if (form === "empty") return;
      forms.add(form);
      if (form === "gzip") {
        if (nesting === maxNesting) {
          throw unknownDump(`The dump is packed more than ${maxNesting} times.`, "Unpack it before.");
        }
        yield* readBytes(byteSource(gunzip(bytes), bounds.unpacked(nesting)), nesting + 1, entry);
      } else {
        const records = createRecorder(tally, entry);
        const create = form === "ndjson" ? createJsonLines : createJsonScanner;
        yield* split(bytes, records, create(records, limits));
      }
    } finally {
      await bytes.close();
    }
  }

  return { batches: whole(), forms };
}

/** What was found before an error comes out before it. */
async function* split(bytes: ByteSource, records: Recorder, splitter: Splitter): Batches {
  try {
    for (let chunk = await bytes.next(); chunk; chunk = await bytes.next()) {
      splitter.write(chunk);
      const batch = records.take();
      if (batch.length > 0) yield batch;
    }
    splitter.end();
  } catch (error) {
    const batch = records.take();
    if (batch.length > 0) yield batch;
    throw error;
  }
  const batch = records.take();
  if (batch.length > 0) yield batch;
}
