import { readFileSync } from "node:fs";

const ticksPerSecond = 100; // USER_HZ of Linux, for any rate of its kernel

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

/** CPU of fixed work, in ms. A machine whose memory is slow, since it shares it with others, may still count as fast as ever. */
export interface Loops {
  readonly counting: number;
  readonly memory: number;
}

/** Runs both loops, and returns their CPU in ms. */
export function measuredLoops(): Loops {
  return { counting: cpuOf(count), memory: cpuOf(fillMemory) };
}

function cpuOf(loop: () => number): number {
  const before = process.cpuUsage();
  const result = loop();
  const { user, system } = process.cpuUsage(before);
  return result === 0 ? Number.NaN : (user + system) / 1000; // reads the result, so that the loop is not optimised away
}

function count(): number {
  let mixed = 1;
  for (let step = 0; step < 4_000_000; step += 1) mixed = Math.imul(mixed ^ step, 0x9e37_79b1);
  return mixed;
}

function fillMemory(): number {
  const rows = new Map<string, unknown>();
  for (let n = 0; n < 5000; n += 1) rows.set(`row ${n}`, { n, text: String(n), list: [n] });
  return JSON.parse(JSON.stringify([...rows])).length;
}
