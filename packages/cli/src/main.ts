import { run } from "@stricli/core";
import { app } from "./app.ts";
import { createContext } from "./context.ts";
import { exitCodeOfParser, isErrorCode } from "./exit-code.ts";

for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(); // who read it, as head does, has read enough
    throw error;
  });
}

const context = createContext(process);

process.removeAllListeners("warning").on("warning", ({ name, message, code }: Error & { code?: string }) => {
  const isToldAsError = name === "EsimWebhooksWarning" && isErrorCode(code);
  if (!isToldAsError) context.output.note(`Warning (${code ?? name}): ${message}`);
});

const [first, ...rest] = process.argv.slice(2);
if (first === "__complete") {
  const { complete } = await import("./completion.ts");
  await complete(context, rest);
} else {
  await run(app, process.argv.slice(2), context);
}
process.exitCode = exitCodeOfParser(process.exitCode);
