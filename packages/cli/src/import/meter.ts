import { type Paint, unpainted } from "../terminal/paint.ts";
import { type Pace, progressBar } from "../terminal/progress-bar.ts";

/** How far an import is, as `importDeliveries` reports it. */
export interface Reading {
  readonly bytesRead: number;
  readonly ledger: { readonly read: number };
}

export interface MeterOptions {
  write(text: string): void;
  /** Undefined for what comes by a pipe. */
  readonly totalBytes: number | undefined;
  /** The terminal's columns; undefined where there is no terminal, and progress is JSON lines. */
  readonly columns: (() => number) | undefined;
  readonly paint?: Paint;
  /** A steady clock, in ms. */
  readonly now?: () => number;
}

export interface Meter {
  update(reading: Reading): void;
  /** Takes the bar away, so that something else can be said. */
  clear(): void;
}

const redrawMs = 100;
const lineMs = 1000;
const windowMs = 5000;
const eraseLine = "\r\u001b[2K";

/** Tells how far an import is: a bar that moves on a terminal, else a JSON line once a second. */
export function createMeter(options: MeterOptions): Meter {
  const { write, totalBytes, columns, paint = unpainted, now = () => performance.now() } = options;
  const everyMs = columns ? redrawMs : lineMs;
  let samples: { at: number; bytes: number; records: number }[] = [];
  let dueAt = now() + everyMs;
  let isDrawn = false;

  /** By the last few seconds: what an earlier run had done goes by faster. */
  function pace({ bytesRead, ledger }: Reading): Pace {
    const latest = { at: now(), bytes: bytesRead, records: ledger.read };
    samples = [...samples.filter(({ at }) => latest.at - at <= windowMs), latest];
    const [first = latest] = samples;
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

  return {
    update(reading) {
      if (samples.length > 0 && now() < dueAt) return;
      const isFirst = samples.length === 0;
      const current = pace(reading);
      if (isFirst && !columns) return; // nothing can be said of its rate
      dueAt = now() + everyMs;
      if (columns) write(`${eraseLine}${progressBar(current, { width: columns() - 1, paint })}`);
      else write(`${JSON.stringify({ progress: { ...inJson(current), ...reading.ledger } })}\n`);
      isDrawn = columns !== undefined;
    },
    clear() {
      if (isDrawn) write(eraseLine);
      isDrawn = false;
    },
  };
}

function inJson({ bytesRead, totalBytes, recordsPerSecond, bytesPerSecond }: Pace) {
  const left =
    totalBytes === undefined || bytesPerSecond <= 0 ? null : (totalBytes - bytesRead) / bytesPerSecond;
  return {
    bytesRead,
    totalBytes: totalBytes ?? null,
    recordsPerSecond: Math.round(recordsPerSecond),
    secondsLeft: left === null ? null : Math.round(left),
  };
}
