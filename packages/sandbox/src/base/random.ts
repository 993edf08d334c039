import { randomInt } from "node:crypto";

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

const digits = "0123456789";
const base36 = `${digits}ABCDEFGHIJKLMNOPQRSTUVWXYZ`;

/** Returns a reference in the form that the service uses. Not from the seed: after a restart, it would repeat those of the saved state. */
function reference(length: number, characters: string): string {
  return Array.from({ length }, () => characters[randomInt(characters.length)]).join("");
}

export const newProfileReference = (): string => reference(16, digits);
export const newEsimReference = (): string => reference(18, digits);
export const newClientReference = (): string => `${1 + randomInt(9)}${reference(5, digits)}`;
export const newPortInRequestReference = (): string => reference(8, base36);
export const newPackageReference = (): string => `PKG${reference(9, base36)}`;
export const newEndpointReference = (): string => `WHE${reference(9, base36)}`;
export const newTransactionReference = (): string => `TXN${reference(12, base36)}`;
export const newEid = (): string => `89049032${reference(24, digits)}`;

/** Begins with the time, so that new ids share the pages of an index: with a million ids, random ones took twice as long. */
export const newEventId = (): string =>
  `msg_${Date.now().toString(36).toUpperCase()}${reference(12, base36)}`;

/** 19 digits, the last of which is the check digit (Luhn). */
export function newIccid(): string {
  const body = `893204${reference(12, digits)}`;
  return body + luhnDigit(body);
}

function luhnDigit(body: string): number {
  const sum = [...body].reverse().reduce((total, digit, index) => {
    const value = Number(digit) * (index % 2 === 0 ? 2 : 1);
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return (10 - (sum % 10)) % 10;
}
