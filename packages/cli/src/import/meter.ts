import { span } from "@esim-webhooks/core/internal";
import { bytes, count, percent } from "../terminal/quantities.ts";
import { type Layout, type Paint, unpainted } from "../terminal/text.ts";

/** The progress of an import, as `importDeliveries` reports it. */
export interface Reading {
  readonly bytesRead: number;
  readonly ledger: { readonly read: number };
}

export interface MeterOptions {
  write(text: string): void;
  /** Undefined for a pipe. */
  readonly totalBytes: number | undefined;
  /** The terminal's columns. Undefined without a terminal: progress is then written as lines. */
  readonly columns: (() => number) | undefined;
  /** JSON lines without a terminal, instead of lines for people. */
  readonly json: boolean;
  readonly paint?: Paint;
  /** A monotonic clock, in ms. */
  readonly now?: () => number;
}

export interface Meter {
  update(reading: Reading): void;
  /** Erases the bar, so that another line can be written. */
  clear(): void;
  /** Draws the bar a last time, with the average rate. */
  end(): void;
}

const redrawMs = 100;
const lineMs = 1000;
const windowMs = 5000;
const eraseLine = "\r\u001b[2K";

interface Sample {
  readonly at: number;
  readonly bytes: number;
  readonly records: number;
}

/** Shows the progress of an import: a bar on a terminal, else a line per second. */
export function createMeter(options: MeterOptions): Meter {
  const { write, totalBytes, columns, json, paint = unpainted, now = () => performance.now() } = options;
  const everyMs = columns ? redrawMs : lineMs;
  let samples: Sample[] = [];
  let dueAt = now() + everyMs;
  let isShown = false;
  let began: Sample | undefined;
  let last: Reading | undefined;

  /** The pace of the last few seconds: records of an earlier run are skipped faster. */
  function recentPace(reading: Reading): Pace {
    const latest = sampleOf(reading);
    began ??= latest;
    samples = [...samples.filter(({ at }) => latest.at - at <= windowMs), latest];
    return pace(reading, samples[0] ?? latest);
  }

  function sampleOf({ bytesRead, ledger }: Reading): Sample {
    return { at: now(), bytes: bytesRead, records: ledger.read };
  }

  function pace(reading: Reading, first: Sample): Pace {
    const { bytesRead, ledger } = reading;
    const latest = sampleOf(reading);
    const seconds = (latest.at - first.at) / 1000;
    const rate = (amount: number) => (seconds > 0 ? amount / seconds : 0);
    return {
      bytesRead,
      totalBytes,
      records: ledger.read,
      recordsPerSecond: rate(ledger.read - first.records),
      bytesPerSecond: rate(bytesRead - first.bytes),
    };
  }

  function draw(current: Pace, width: number): void {
    write(`${eraseLine}${progressBar(current, { width: width - 1, paint })}`);
  }

  return {
    update(reading) {
      last = reading;
      if (samples.length > 0 && now() < dueAt) return;
      const isFirst = samples.length === 0;
      const current = recentPace(reading);
      if (isFirst && !columns) return; // one sample gives no rate
      dueAt = now() + everyMs;
      if (columns) draw(current, columns());
      else if (json) write(`${JSON.stringify({ progress: { ...paceJson(current), ...reading.ledger } })}\n`);
      else write(`${factsOf(current).join("  ").trimStart()}\n`);
      isShown = columns !== undefined;
    },
    clear() {
      if (isShown) write(eraseLine);
      isShown = false;
    },
    end() {
      if (!columns || !last || !began) return;
      draw(pace(last, began), columns());
      write("\n");
      isShown = false;
    },
  };
}

function paceJson({ bytesRead, totalBytes, recordsPerSecond, bytesPerSecond }: Pace) {
  const left =
    totalBytes === undefined || bytesPerSecond <= 0 ? null : (totalBytes - bytesRead) / bytesPerSecond;
  return {
    bytesRead,
    totalBytes: totalBytes ?? null,
    recordsPerSecond: Math.round(recordsPerSecond),
    secondsLeft: left === null ? null : Math.round(left),
  };
}

/** The progress of reading a file. */
export interface Pace {
  readonly bytesRead: number;
  /** Undefined when unknown, as for a pipe. */
  readonly totalBytes: number | undefined;
  readonly records: number;
  /** The rate of the last few seconds, or of this whole run: without the records of an earlier run. */
  readonly recordsPerSecond: number;
  readonly bytesPerSecond: number;
}

const longestBar = 24;
const shortestBar = 8;
const eighths = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"] as const;

/** One line of at most `width` columns (default 80). Facts that do not fit are dropped from the right, then the bar; the first fact stays. */
export function progressBar(pace: Pace, { width = 80, paint = unpainted }: Layout = {}): string {
  const { bytesRead, totalBytes } = pace;
  const facts = factsOf(pace);
  let room = 0;
  let line = "";
  for (; facts.length > 0; facts.pop()) {
    line = facts.join("  ");
    room = width - line.length - 2;
    if (totalBytes === undefined ? room >= -2 : room >= shortestBar) break;
  }
  if (totalBytes === undefined || facts.length === 0) return line.slice(0, width);
  const bar = barOf(totalBytes > 0 ? Math.min(1, bytesRead / totalBytes) : 1, Math.min(longestBar, room));
  return `${paint("accent", bar.filled)}${paint("faint", bar.empty)}  ${line}`;
}

function factsOf(pace: Pace): string[] {
  const { bytesRead, totalBytes, records, recordsPerSecond } = pace;
  return [
    totalBytes === undefined ? bytes(bytesRead) : percent(bytesRead, totalBytes).padStart(4),
    `${count(records)} records`,
    `${count(recordsPerSecond)}/s`,
    ...timeLeft(pace),
  ];
}

function barOf(part: number, cells: number): { filled: string; empty: string } {
  const steps = Math.floor(part * cells * 8);
  const filled = "█".repeat(Math.floor(steps / 8)) + (eighths[steps % 8] ?? "");
  return { filled, empty: "░".repeat(cells - filled.length) };
}

function timeLeft({ bytesRead, bytesPerSecond, totalBytes }: Pace): string[] {
  if (totalBytes === undefined || bytesRead >= totalBytes || bytesPerSecond <= 0) return [];
  return [`${span(((totalBytes - bytesRead) / bytesPerSecond) * 1000)} left`];
}
