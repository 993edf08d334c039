/** Random numbers of a seed: the same seed gives the same numbers in the same order. */
export interface Random {
  /** At least 0 and below 1. */
  fraction(): number;
  /** At least 0 and below `end`, whole. */
  below(end: number): number;
  /** At least `from` and below `to`. */
  between(from: number, to: number): number;
  chance(probability: number): boolean;
  pick<Item>(items: readonly Item[]): Item;
  /** A time to wait for what happens on average every `meanMs`. */
  wait(meanMs: number): number;
  /** Another sequence, which draws nothing from this one. */
  fork(name: string): Random;
}

/** sfc32: 128 bits of state, so that seeds next to each other have nothing in common. */
export function seededRandom(seed: number | string): Random {
  let [a, b, c, d] = [0x9e3779b9, 0x243f6a88, hashOf(`${seed}`), 1];
  function fraction(): number {
    const sum = (a + b + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    return (sum >>> 0) / 2 ** 32;
  }
  for (let round = 0; round < 12; round += 1) fraction();
  const between = (from: number, to: number) => from + fraction() * (to - from);
  return {
    fraction,
    between,
    below: (end) => Math.floor(fraction() * end),
    chance: (probability) => fraction() < probability,
    pick: (items) => items[Math.floor(fraction() * items.length)] as never,
    wait: (meanMs) => -Math.log(1 - fraction()) * meanMs,
    fork: (name) => seededRandom(`${seed} ${name}`),
  };
}

/** FNV-1a, for texts of a few characters. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
