import { buildCommand, type Command } from "@stricli/core";
import { type ImportFlags, importFlags } from "../import/flags.ts";
import type { CliContext } from "../program/context.ts";
import { help } from "../program/help.ts";

export const importCommand: Command<CliContext> = buildCommand<ImportFlags, [string], CliContext>({
  loader: async () => {
    (await import("../import/small-heap.ts")).keepHeapSmall(); // before what is loaded has made it large
    return (await import("../import/import-dump.ts")).importDump;
  },
  parameters: {
    flags: importFlags,
    positional: {
      kind: "tuple",
      parameters: [{ parse: String, placeholder: "dump", brief: "The file, or - for standard input" }],
    },
  },
  docs: help(
    "Replay a dump of deliveries",
    [
      "Imports what support sends, an export of the deliveries listing, or requests",
      "that a proxy captured, into the configured inbox or handlers. NDJSON, JSON,",
      "pages or CSV, plain, gzip, zstd or ZIP: its content tells which.",
      "What is stored or done already is a duplicate and does not run. A bad record",
      "stops nothing: it is counted, and written to the rejects file. Interrupted, it",
      "goes on where it was when it is run again. Ends with 3 when records did not get",
      "through, or the dump is damaged.",
    ].join("\n"),
    [
      "esim-webhooks import dump.ndjson.gz --dry-run --trust-unsigned",
      "esim-webhooks import dump.ndjson.gz --only failed,exhausted --trust-unsigned",
      "esim-webhooks import captured.ndjson --since 7d --types 'esim.lifecycle.*'",
      "esim-webhooks import export.csv --map eventId=id,payload=body --trust-unsigned",
      "zcat dump.gz | esim-webhooks import - --json",
    ],
  ),
});
