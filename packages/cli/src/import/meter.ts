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
  /** Leaves the bar as it was in the end, with the rate of the whole. */
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

/** Tells how far an import is: a bar that moves on a terminal, else a JSON line once a second. */
export function createMeter(options: MeterOptions): Meter {
  const { write, totalBytes, columns, paint = unpainted, now = () => performance.now() } = options;
  const everyMs = columns ? redrawMs : lineMs;
  let samples: Sample[] = [];
  let dueAt = now() + everyMs;
  let isDrawn = false;
  let began: Sample | undefined;
  let last: Reading | undefined;

  /** By the last few seconds: what an earlier run had done goes by faster. */
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
      if (isFirst && !columns) return; // nothing can be said of its rate
      dueAt = now() + everyMs;
      if (columns) draw(current, columns());
      else write(`${JSON.stringify({ progress: { ...inJson(current), ...reading.ledger } })}\n`);
      isDrawn = columns !== undefined;
    },
    clear() {
      if (isDrawn) write(eraseLine);
      isDrawn = false;
    },
    end() {
      if (!columns || !last || !began) return;
      draw(pace(last, began), columns());
      write("\n");
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
