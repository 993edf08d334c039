import { run } from "@stricli/core";
import { calledIn, createApp } from "./app.ts";
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

const args = process.argv.slice(2);
if (args[0] === "__complete") {
  const { complete } = await import("./completion.ts");
  await complete(context, args.slice(1));
} else {
  await run(await createApp(calledIn(args)), args, context);
}
process.exitCode = exitCodeOfParser(process.exitCode);
