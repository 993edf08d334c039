import { esimCatalog, WebhookError } from "@esim-webhooks/core";
import { type ImportReport, importDeliveries } from "@esim-webhooks/import";
import { optionsOf } from "../flags/flag.ts";
import { inFlags } from "../flags/in-flags.ts";
import { warnOfUnknownTypes } from "../flags/types-flag.ts";
import { commandLogger } from "../log/command-logger.ts";
import type { CliContext } from "../program/context.ts";
import { type ExitCode, exitCodes } from "../program/exit-code.ts";
import { at } from "../program/naming.ts";
import { invalidUsage } from "../program/program-error.ts";
import { stopSignal } from "../program/stopping.ts";
import { knownSecrets } from "../set-up/known-secrets.ts";
import { type ImportTarget, importTarget, openTarget, untouchedTarget } from "../set-up/open-target.ts";
import { readSetUp, type SetUp } from "../set-up/set-up.ts";
import { type ImportWatch, watchImport } from "../set-up/support-replay.ts";
import { count, counted } from "../terminal/quantities.ts";
import { layoutFor } from "../terminal/text.ts";
import { type DumpFile, openDump } from "./dump-file.ts";
import { type ImportFlags, importFlags } from "./flags.ts";
import { createMeter } from "./meter.ts";
import { reportView } from "./report-view.ts";

/** Opens the dump and the target, imports, and reports. */
export async function importDump(this: CliContext, flags: ImportFlags, path: string): Promise<void> {
  const { output, process } = this;
  const setUp = await readSetUp(this, flags);
  warnOfUnknownTypes(flags.types ?? [], (setUp.catalog ?? esimCatalog).types, output);
  const dump = await openDump(path, flags, process);
  const noteOnTerminal = (line: string) => (process.stderr.isTTY ? output.note(line) : undefined);
  noteOnTerminal(`Importing ${dump.name}${flags.dryRun ? ": a dry run, which changes nothing" : ""}`);
  const opened = flags.dryRun ? undefined : await openTarget(setUp);
  const watch = flags.dryRun ? undefined : await watchImport(setUp, flags.source);
  if (opened) noteOnTerminal(`into ${opened.where}`);
  try {
    const startedAt = performance.now();
    const report = await run(
      this,
      flags,
      setUp,
      dump,
      opened ? importTarget(opened) : untouchedTarget(setUp),
      watch?.settled,
    );
    printReport(this, report, dump, { json: flags.json, tookMs: performance.now() - startedAt });
    for (const line of (await watch?.end()) ?? []) output.note(line);
  } catch (error) {
    if (isUnwritable(error)) throw unwritable(error);
    const isOfCheckpoint = WebhookError.is(error) && error.code === "checkpoint_mismatch";
    throw isOfCheckpoint ? at(dump.checkpointFile, error) : error;
  } finally {
    await watch?.close();
    await opened?.close();
  }
}

async function run(
  { output, process }: CliContext,
  flags: ImportFlags,
  setUp: SetUp,
  { input, totalBytes, written, removeEmptyRejects }: DumpFile,
  { target, options }: ImportTarget,
  onSettled: ImportWatch["settled"] | undefined,
): Promise<ImportReport> {
  const { stderr } = process;
  const isTerminal = stderr.isTTY === true;
  const { paint } = layoutFor(stderr, process.env);
  const meter = createMeter({
    write: (text) => void stderr.write(text),
    totalBytes,
    columns: isTerminal ? () => stderr.columns || 80 : undefined,
    json: flags.json === true,
    ...(paint && { paint }),
  });
  const above = (write: (line: string) => void) => (line: string) => {
    meter.clear();
    write(line);
  };
  const stop = stopSignal({ process, output: { note: above(output.note) } });
  try {
    return await importDeliveries<unknown, unknown>(input, target as never, {
      ...options,
      source: setUp.config.source,
      ...(setUp.catalog && { catalog: setUp.catalog }),
      ...optionsOf(importFlags, flags),
      secret: (await knownSecrets(setUp.secret)) ?? [], // else the library reads a variable
      ...written,
      signal: stop.signal,
      logger: commandLogger({
        write: above(output.log),
        json: flags.json === true && !isTerminal,
        style: output.styleNote,
      }),
      onProgress: (progress) => meter.update(progress),
      onSettled,
    });
  } finally {
    stop.release();
    meter.end();
    await removeEmptyRejects();
  }
}

interface ReportOptions {
  readonly json: boolean | undefined;
  readonly tookMs: number;
}

function printReport(
  { output, process }: CliContext,
  report: ImportReport,
  dump: DumpFile,
  { json, tookMs }: ReportOptions,
): void {
  const { rejectsFile } = dump;
  const view = { rejectsFile, tookMs, ...layoutFor(process.stdout, process.env) };
  if (json) output.json({ ...report, rejectsFile: rejectsFile ?? null });
  else for (const line of reportView(report, view)) output.data(line);
  const { exitCode, notes } = verdictOn(report, dump);
  for (const line of notes) output.note(line);
  process.exitCode = exitCode;
}

const unwritableCodes: readonly unknown[] = ["ENOENT", "ENOTDIR", "EACCES", "EPERM", "EROFS", "EISDIR"];

function isUnwritable(error: unknown): error is NodeJS.ErrnoException {
  const { code, syscall } = error as NodeJS.ErrnoException;
  return syscall === "open" && unwritableCodes.includes(code);
}

/** The error for a rejects file or checkpoint. By default, both are next to the dump, where writing may be forbidden. */
function unwritable(cause: NodeJS.ErrnoException): Error {
  return invalidUsage(
    `${cause.path} cannot be opened.`,
    "Choose other places with --rejects and --checkpoint.",
    { cause },
  );
}

/** The exit code after an import, and the messages besides the report. */
export function verdictOn(
  { ledger, types, damage, interrupted, resumedAfter }: ImportReport,
  { checkpointFile }: Pick<DumpFile, "checkpointFile">,
): { readonly exitCode: ExitCode; readonly notes: readonly string[] } {
  const bad = ledger.conflict + ledger.invalid + ledger.rejected;
  const isOfAnotherShape = ledger.read > 0 && types["(none)"]?.invalid === ledger.read;
  const notes = [
    ...(resumedAfter > 0
      ? [`Continued after the ${counted(resumedAfter, "record")} of an earlier run.`]
      : []),
    ...(damage
      ? [`Error (${damage.code}): ${inFlags(`${damage.problem} ${damage.remedy}`, importFlags)}`]
      : []),
    ...(interrupted
      ? [`Interrupted after ${counted(ledger.read, "record")}. ${howToContinue(checkpointFile)}`]
      : []),
    ...(!interrupted && bad > 0
      ? [`${count(bad)} of ${counted(ledger.read, "record")} did not get through.`]
      : []),
    ...(isOfAnotherShape
      ? [
          "None of them is an event. If their fields have other names, name those with --map eventId=id,payload=body.",
        ]
      : []),
  ];
  if (interrupted) return { exitCode: exitCodes.interrupted, notes };
  return { exitCode: bad > 0 || damage ? exitCodes.problem : exitCodes.ok, notes };
}

function howToContinue(checkpointFile: string | undefined): string {
  const again = "Run the same command again";
  return checkpointFile === undefined
    ? `${again}: what was imported counts as duplicate.`
    : `${again} to continue.`;
}
