import { createInterface } from "node:readline";

/** Asks a question on a terminal. Any answer except y or yes, and the end of input, is "no"; Ctrl-C is "interrupted". */
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
    lines.on("close", () => resolve("no")); // no effect after an answer
    lines.question(`${question} [y/N] `, (answer) => {
      resolve(/^\s*y(?:es)?\s*$/i.test(answer) ? "yes" : "no");
      lines.close();
    });
  });
}
