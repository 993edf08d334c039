/** 1234567 → `1,234,567` */
export function count(value: number): string {
  // Intl.NumberFormat would make each command start 8% slower
  return String(Math.round(value)).replace(/\B(?=(?:\d{3})+$)/g, ",");
}

/** 1 → `1 event`, 2 → `2 events` */
export function counted(value: number, noun: string, nouns = `${noun}s`): string {
  return `${count(value)} ${value === 1 ? noun : nouns}`;
}

/** How far previews count. */
export const mostCounted = 10_000;

/** A number that may be counted only so far: `more than 10,000`, in whole thousands, if there are more. */
export function countSoFar(value: number, isMore: boolean = value > mostCounted): string {
  if (!isMore) return count(value);
  const known = value > 1000 ? Math.floor((value - 1) / 1000) * 1000 : value - 1;
  return `more than ${count(known)}`;
}

/** The same with a noun: `more than 10,000 events` */
export function countedSoFar(
  value: number,
  noun: string,
  nouns: string = `${noun}s`,
  isMore: boolean = value > mostCounted,
): string {
  return `${countSoFar(value, isMore)} ${value === 1 && !isMore ? noun : nouns}`;
}

const byteUnits = ["KiB", "MiB", "GiB", "TiB"] as const;

/** 1536 → `1.5 KiB` */
export function bytes(value: number): string {
  let [size, unit] = [value, "bytes"];
  for (const next of byteUnits) {
    if (size < 1024) break;
    [size, unit] = [size / 1024, next];
  }
  return `${unit === "bytes" || size >= 100 ? Math.round(size) : size.toFixed(1)} ${unit}`;
}

const spans = [
  ["d", 86_400],
  ["h", 3600],
  ["m", 60],
  ["s", 1],
] as const;

/** A duration in at most two units: `3d 4h`, `12m 05s`, `8s`; less than a second is `0s`. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const first = spans.findIndex(([, size]) => seconds >= size);
  const [unit, size] = spans[first] ?? ["s", 1];
  const [nextUnit, nextSize] = spans[first + 1] ?? [undefined, 1];
  if (first === -1 || nextUnit === undefined) return `${seconds}s`;
  const rest = Math.floor((seconds % size) / nextSize);
  const shown = nextUnit === "s" || nextUnit === "m" ? String(rest).padStart(2, "0") : String(rest);
  return `${Math.floor(seconds / size)}${unit} ${shown}${nextUnit}`;
}

/** How long ago, in one unit: `4d ago`, `12m ago`, `now`. A time in the future is `in 5m`. */
export function ago(from: Date, now: number): string {
  const ms = now - from.getTime();
  const seconds = Math.floor(Math.abs(ms) / 1000);
  const [unit, size] = spans.find(([, length]) => seconds >= length) ?? ["s", 1];
  if (seconds < 1) return "now";
  const rounded = `${Math.floor(seconds / size)}${unit}`;
  return ms < 0 ? `in ${rounded}` : `${rounded} ago`;
}

/** A part of a whole: `57%`. Only all of it is `100%`, and only none of it is `0%`. */
export function percent(part: number, whole: number): string {
  if (whole <= 0) return "100%";
  const exact = (part * 100) / whole;
  if (exact > 0 && exact < 1) return "<1%";
  return `${part < whole ? Math.min(99, Math.floor(exact)) : 100}%`;
}

/** `2026-11-20 14:03:05Z`; `?` for an invalid date. */
export function instant(date: Date): string {
  return Number.isFinite(date.getTime())
    ? date
        .toISOString()
        .replace("T", " ")
        .replace(/\.\d+Z$/, "Z")
    : "?";
}
