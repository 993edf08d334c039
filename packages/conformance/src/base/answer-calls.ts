import { createInterface } from "node:readline";

/** The child's side of `OtherProcess`: answers one line of calls at a time, and closes at the end of standard input. */
export function answerCalls(
  operations: Readonly<Record<string, (...args: never[]) => unknown>>,
  close: () => Promise<void>,
): void {
  const lines = createInterface(process.stdin);
  lines.on("line", async (line) => {
    const calls = JSON.parse(line) as [name: string, ...args: never[]][];
    const results = await Promise.all(calls.map(([name, ...args]) => operations[name]?.(...args)));
    process.stdout.write(`${JSON.stringify(results.map((result) => result ?? null))}\n`);
  });
  lines.on("close", async () => {
    await close();
    await close();
  });
  process.stdout.write("[]\n");
}
