import { readFileSync } from "node:fs";

const ticksPerSecond = 100; // USER_HZ of Linux, whatever its kernel's own rate

/** The CPU of this process and of its ended children, in seconds. NaN where there is no /proc. */
export function processCpu(): { readonly own: number; readonly children: number } {
  let text: string;
  try {
    text = readFileSync("/proc/self/stat", "latin1");
  } catch {
    return { own: Number.NaN, children: Number.NaN };
  }
  // the name of the program may have blanks; after it come the state and eleven other fields
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [user = 0, system = 0, childUser = 0, childSystem = 0] = fields.slice(11, 15).map(Number);
  return { own: (user + system) / ticksPerSecond, children: (childUser + childSystem) / ticksPerSecond };
}

/** Runs a fixed loop, and returns its CPU in ms. */
export function measuredLoop(): number {
  const before = process.cpuUsage();
  let mixed = 1;
  for (let step = 0; step < 4_000_000; step += 1) mixed = Math.imul(mixed ^ step, 0x9e37_79b1);
  const { user, system } = process.cpuUsage(before);
  return mixed === 0 ? Number.NaN : (user + system) / 1000; // reads the result, so that the loop is not optimised away
}
