// C0 and C1, half characters, and what turns the direction of text
const steering = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** Text that came over the network, or out of a file, on one line: it must not steer the terminal. */
export function printable(value: unknown): string {
  return String(value)
    .replace(/[\n\t]/g, " ")
    .replace(steering, "\ufffd");
}
