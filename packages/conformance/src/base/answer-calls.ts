import { createInterface } from "node:readline";

/** The other end of an `OtherProcess`: answers calls that come line by line, and closes when there are no more. */
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
