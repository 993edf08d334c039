import { createInterface } from "node:readline";

/** Asks a question on a terminal; no unless the answer is yes. The end of input is no, and Ctrl-C is its own answer. */
export function confirm(
  question: string,
  { input, output }: { input: NodeJS.ReadableStream; output: NodeJS.WritableStream },
): Promise<"yes" | "no" | "interrupted"> {
  const lines = createInterface({ input, output, terminal: true });
  return new Promise((resolve) => {
    lines.on("SIGINT", () => {
      resolve("interrupted");
      output.write("\n");
      lines.close();
    });
    lines.on("close", () => resolve("no")); // after an answer, it has been resolved already
    lines.question(`${question} [y/N] `, (answer) => {
      resolve(/^\s*y(?:es)?\s*$/i.test(answer) ? "yes" : "no");
      lines.close();
    });
  });
}
