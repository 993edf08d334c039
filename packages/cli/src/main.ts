import { run } from "@stricli/core";
import { app } from "./app.ts";
import { createContext } from "./context.ts";
import { exitCodeOfParser } from "./exit-code.ts";
import { hearWarnings } from "./warnings.ts";

for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(); // who read it, as head does, has read enough
    throw error;
  });
}

const context = createContext(process);

hearWarnings(({ code, message }) => context.output.note(`Warning (${code}): ${message}`));

const [first, ...rest] = process.argv.slice(2);
if (first === "__complete") {
  const { complete } = await import("./completion.ts");
  await complete(context, rest);
} else {
  await run(app, process.argv.slice(2), context);
}
process.exitCode = exitCodeOfParser(process.exitCode);
