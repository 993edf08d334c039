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

/** A time in UTC, such as `2026-11-20 14:03:05Z`; `?` for an invalid date. */
export function instant(date: Date): string {
  return Number.isFinite(date.getTime())
    ? date
        .toISOString()
        .replace("T", " ")
        .replace(/\.\d+Z$/, "Z")
    : "?";
}
