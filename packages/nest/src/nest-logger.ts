import type { Logger } from "@esim-webhooks/core";
import { Logger as NestLogger } from "@nestjs/common";

/** The application's own logger, as a logger of core. Fields are JSON after the message, since loggers of Nest have only texts in common. */
export function nestLogger(bindings: Readonly<Record<string, unknown>> = {}): Logger {
  const nest = new NestLogger("EsimWebhooks");
  const write = (level: "debug" | "log" | "warn") => (fields: object, message: string) =>
    nest[level](lineText({ ...bindings, ...fields }, message));
  return {
    debug: write("debug"),
    info: write("log"),
    warn: write("warn"),
    error({ err, ...fields }, message) {
      const text = lineText({ ...bindings, ...fields }, message);
      nest.error(text, ...(err instanceof Error ? [err.stack] : err === undefined ? [] : [String(err)]));
    },
    child: (more) => nestLogger({ ...bindings, ...more }),
  };
}

function lineText(fields: object, message: string): string {
  if (Object.keys(fields).length === 0) return message;
  return `${message} ${JSON.stringify(fields, (_, value) => (value instanceof Error ? value.stack : value))}`;
}
