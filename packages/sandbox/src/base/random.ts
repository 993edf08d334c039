/** Random numbers of a seed: the same seed gives the same numbers in the same order. */
export interface Random {
  /** At least 0 and below 1. */
  fraction(): number;
  /** At least 0 and below `end`, whole. */
  below(end: number): number;
}

/** Mulberry32: 32 bits of state are enough for what a sandbox makes up. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  function fraction(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  return { fraction, below: (end) => Math.floor(fraction() * end) };
}
