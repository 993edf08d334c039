import { warningLogger } from "../log/command-logger.ts";
import type { CliContext } from "../program/context.ts";
import { programError } from "../program/program-error.ts";
import { stopSignal } from "../program/stopping.ts";
import { withDefer } from "../program/with-defer.ts";
import { count } from "../terminal/quantities.ts";
import { table } from "../terminal/table.ts";
import { type Layout, layoutFor } from "../terminal/text.ts";
import { type BenchInbox, openBenchInbox } from "./bench-inbox.ts";
import type { BenchFlags } from "./flags.ts";
import { type Figures, measurePuts, measureWorker, type StoredFigures } from "./measure.ts";

/** The figures, and the database that was measured. */
export interface BenchResult extends Pick<BenchInbox, "engine" | "version" | "where"> {
  readonly stored: StoredFigures;
  readonly handled: Figures;
}

const mostEvents = 100_000; // some 100 MB on the disk
const warmUpEvents = 500; // opens connections, compiles code

/** Measures how many events a second the database stores, and a worker handles. Removes all that it has made. */
export async function bench(this: CliContext, flags: BenchFlags): Promise<void> {
  const { output, process } = this;
  const logger = warningLogger(output);
  await withDefer(async (defer) => {
    const { signal, release } = stopSignal(this, "the removal of what was made");
    defer(release);
    const opened = await openBenchInbox(this, flags.inbox, logger);
    const { inbox, engine, version, where, made } = opened;
    defer(() => removed(opened, output.note));
    output.note(
      `Measuring ${where} for at most ${flags.seconds} s, in ${made}, which is removed at the end. Press Ctrl-C to stop.`,
    );
    const limits = (part: number) => ({ seconds: flags.seconds * part, signal });
    const warmUp = await measurePuts(inbox, warmUpEvents, limits(0.05));
    await measureWorker(inbox, warmUp.events, limits(0.05), logger);
    const stored = await measurePuts(inbox, mostEvents, limits(0.45));
    const handled = await measureWorker(inbox, stored.events, limits(0.45), logger);
    if (signal.aborted) throw programError("interrupted", "Nothing was measured.", "Run it again.");
    const result = { engine, version, where, stored, handled };
    if (flags.json) output.json(result);
    else for (const line of benchView(result, layoutFor(process.stdout, process.env))) output.data(line);
  });
}

/** Removes the inbox. If that fails, says what may be left, since the command reports only its first error. */
async function removed({ made, remove }: BenchInbox, note: (line: string) => void): Promise<void> {
  await remove().catch((error) => {
    note(`Remove ${made} yourself: it may be left.`);
    throw error;
  });
}

/** The figures as a table, under the name of what was measured. */
export function benchView({ version, where, stored, handled }: BenchResult, layout: Layout): string[] {
  const titles = ["EVENTS", "SECONDS", "EVENTS/S", "AT A TIME", "P50 OF A PUT", "P99"];
  const columns = [{ title: "" }, ...titles.map((title) => ({ title, align: "right" as const }))];
  const cells = ({ events, seconds, perSecond, concurrency }: Figures) =>
    [count(events), seconds.toFixed(2), count(perSecond), count(concurrency)] as const;
  const rows = [
    ["stored", ...cells(stored), `${stored.p50Ms.toFixed(2)} ms`, `${stored.p99Ms.toFixed(2)} ms`],
    ["handled", ...cells(handled), "", ""],
  ];
  return [`${where}, version ${version}`, "", ...table(columns, rows, layout)];
}
