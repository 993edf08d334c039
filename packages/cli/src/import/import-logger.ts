import type { Logger } from "@esim-webhooks/core";
import { maskText } from "../masking/mask-text.ts";
import { printable, printableJson } from "../program/printable.ts";

const nothing = () => {};

/** What an import has to tell while it runs, such as an event that is run again: for people on a terminal, else JSON lines. */
export function importLogger(note: (line: string) => void, isTerminal: boolean): Logger {
  const log = (level: "info" | "warn" | "error") => (fields: Record<string, unknown>, message: string) => {
    const { err, ...rest } = fields;
    const error =
      err === undefined ? {} : { error: maskText(err instanceof Error ? err.message : String(err)) };
    if (!isTerminal) return note(printableJson({ level, ...rest, ...error, message }));
    const about = Object.entries({ ...rest, ...error }).map(
      ([name, value]) => `${name} ${printable(String(value))}`,
    );
    note(`${message}${about.length > 0 ? ` (${about.join(", ")})` : ""}`);
  };
  return { debug: nothing, info: log("info"), warn: log("warn"), error: log("error") };
}
