import type { Layout } from "./layout.ts";
import { unpainted } from "./paint.ts";
import { bytes, count, percent, span } from "./quantities.ts";

/** The progress of reading a file. */
export interface Pace {
  readonly bytesRead: number;
  /** Undefined when unknown, as for a pipe. */
  readonly totalBytes: number | undefined;
  readonly records: number;
  /** Without the records of an earlier run. */
  readonly recordsPerSecond: number;
  readonly bytesPerSecond: number;
}

const longestBar = 24;
const shortestBar = 8;
const eighths = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"] as const;

/** One line of at most `width` columns (default 80). Facts that do not fit are dropped from the right, the bar last. */
export function progressBar(pace: Pace, { width = 80, paint = unpainted }: Layout = {}): string {
  const { bytesRead, totalBytes, records, recordsPerSecond } = pace;
  const facts = [
    totalBytes === undefined ? bytes(bytesRead) : percent(bytesRead, totalBytes).padStart(4),
    `${count(records)} records`,
    `${count(recordsPerSecond)}/s`,
    ...timeLeft(pace),
  ];
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

function barOf(part: number, cells: number): { filled: string; empty: string } {
  const steps = Math.floor(part * cells * 8);
  const filled = "█".repeat(Math.floor(steps / 8)) + (eighths[steps % 8] ?? "");
  return { filled, empty: "░".repeat(cells - filled.length) };
}

function timeLeft({ bytesRead, bytesPerSecond, totalBytes }: Pace): string[] {
  if (totalBytes === undefined || bytesRead >= totalBytes || bytesPerSecond <= 0) return [];
  return [`${span(((totalBytes - bytesRead) / bytesPerSecond) * 1000)} left`];
}
