import { setFlagsFromString } from "node:v8";
import { command, help } from "../flags/command.ts";
import { importFlags } from "../import/flags.ts";

export const importCommand = command({
  load: async () => {
    keepHeapSmall(); // before the import's modules are loaded, which would make it large
    return (await import("../import/import-dump.ts")).importDump;
  },
  flags: importFlags,
  args: [{ placeholder: "dump", brief: "The file, or - for standard input" }],
  docs: help(
    "Replay a dump of deliveries",
    [
      "Imports a dump from support, an export of the deliveries listing, or requests",
      "that a proxy captured, into the configured inbox or handlers. Reads NDJSON,",
      "JSON, pages, CSV or HAR, plain, gzip, zstd or ZIP, and detects the format itself.",
      "Events that are already stored or done are duplicates and do not run again.",
      "A bad record does not stop the import: it is counted and written to the",
      "rejects file. Run an interrupted import again to continue it. Ends with 3 when",
      "records did not get through or the dump is damaged.",
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

/** Without these flags, V8 lets 100 to 200 MB of garbage accumulate. bench/README.md has the speed and the memory with them. */
function keepHeapSmall(): void {
  for (const flag of ["--semi-space-growth-factor=1", "--heap-growing-percent=20"]) setFlagsFromString(flag);
}
