/** 1234567 → `1,234,567` */
export function count(value: number): string {
  // Intl.NumberFormat would make each command start 8% slower
  return String(Math.round(value)).replace(/\B(?=(?:\d{3})+$)/g, ",");
}

/** 1 → `1 event`, 2 → `2 events` */
export function counted(value: number, noun: string, nouns = `${noun}s`): string {
  return `${count(value)} ${value === 1 ? noun : nouns}`;
}

/** Counting for a preview stops after this number. */
export const mostCounted = 10_000;

/** A count as text. If it stopped at a limit: `more than 10,000`, a large one in whole thousands. */
export function countSoFar(value: number, isMore: boolean = value > mostCounted): string {
  if (!isMore) return count(value);
  const known = value > 1000 ? Math.floor((value - 1) / 1000) * 1000 : value - 1;
  return `more than ${count(known)}`;
}

/** As `countSoFar`, with a noun: `more than 10,000 events` */
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

/** A part of a whole: `57%`. Only the whole is `100%`, and only nothing is `0%`. */
export function percent(part: number, whole: number): string {
  if (whole <= 0) return "100%";
  const exact = (part * 100) / whole;
  if (exact > 0 && exact < 1) return "<1%";
  return `${part < whole ? Math.min(99, Math.floor(exact)) : 100}%`;
}
