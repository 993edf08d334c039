import type { ByteSource } from "./byte-source.ts";
import { createCsvReader } from "./csv.ts";
import { createJsonLines } from "./json-lines.ts";
import { createJsonScanner } from "./json-scanner.ts";
import type { TextForm } from "./recognise.ts";
import type { DumpLimits, RawRecord } from "./record.ts";
import type { Recorder } from "./recorder.ts";
import type { Splitter } from "./splitter.ts";

/** Splits text into records, one batch per chunk. Yields all records before an error, then throws it. */
export async function* split(
  source: ByteSource,
  text: TextForm,
  records: Recorder,
  limits: DumpLimits,
): AsyncGenerator<readonly RawRecord[]> {
  const splitter = splitterOf(text, records, limits);
  let failure: { readonly error: unknown } | undefined;
  const next = () =>
    source.next().catch((error: unknown) => {
      splitter.cut?.();
      failure = { error };
      return undefined;
    });
  try {
    for (let bytes = await next(); bytes; bytes = await next()) {
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
      return createJsonLines(records, limits, text.start);
    case "json":
      return createJsonScanner(records, limits, text.start);
    case "csv":
      return createCsvReader(records, limits, text.header, text.start);
  }
}
