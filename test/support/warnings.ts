// The warnings of a process that runs tests: those of Node.js and of the packages, and what is written with console.warn or console.error.
import { format } from "node:util";

let expected: readonly (string | RegExp)[] = [];
let unexpected: string[] = [];

/**
 * Allows warnings in this file: by the code of a process warning, or by a pattern of the text. Does not require them, since a
 * process emits most warnings of the packages once, for any number of files that cause them.
 */
export function expectWarnings(...warnings: readonly (string | RegExp)[]): void {
  expected = [...expected, ...warnings];
}

/** Starts a file: forgets the warnings of the one before. */
export function forgetWarnings(): void {
  expected = [];
  unexpected = [];
}

/** Resolves to the warnings since the file started that it did not expect. */
export async function unexpectedWarnings(): Promise<readonly string[]> {
  await new Promise<void>((resolve) => process.nextTick(resolve)); // a warning is emitted in the tick after its cause
  return unexpected;
}

function note(text: string, code?: string): void {
  const isExpected = expected.some((each) => (typeof each === "string" ? each === code : each.test(text)));
  if (!isExpected) unexpected.push(text);
}

process.removeAllListeners("warning"); // Node.js prints each warning
process.on(
  "warning",
  ({ name, code, message, detail, stack }: Error & { code?: string; detail?: string }) => {
    if (name === "ExperimentalWarning" || code === "wal_reset_bug") return; // SQLite, on the oldest Node.js
    const text = code === undefined ? `${name}: ${message}` : `[${code}] ${name}: ${message}`;
    note(`${text}\n${detail ?? stack?.slice(stack.indexOf("\n") + 1) ?? ""}`, code);
  },
);
for (const level of ["warn", "error"] as const)
  console[level] = (...values: unknown[]) => note(`console.${level}: ${format(...values)}`);
