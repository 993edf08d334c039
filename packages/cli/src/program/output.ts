import type * as util from "node:util";
import { printableJson } from "./printable.ts";

type Style = Parameters<typeof util.styleText>[0];

/** Where a command writes: data to standard output, everything else to standard error. */
export interface Output {
  /** Whether a person looks at the data. */
  readonly isTerminal: boolean;
  /** A line of data. */
  data(line: string): void;
  /** A value as one line of JSON. */
  json(value: unknown): void;
  /** A line for people, which is no data. */
  note(line: string): void;
  /** Text for `data`, in colour where standard output shows it (NO_COLOR, FORCE_COLOR). */
  style(style: Style, text: string): string;
  /** The same for `note` and standard error. */
  styleNote(style: Style, text: string): string;
}

export function createOutput({ stdout, stderr }: Pick<NodeJS.Process, "stdout" | "stderr">): Output {
  return {
    isTerminal: stdout.isTTY === true,
    data: (line) => void stdout.write(`${line}\n`),
    json: (value) => void stdout.write(`${printableJson(value)}\n`),
    note: (line) => void stderr.write(`${line}\n`),
    style: (style, text) => styled(style, text, stdout),
    styleNote: (style, text) => styled(style, text, stderr),
  };
}

/** Gets its module when there is something to style: importing it is a tenth of the start-up. */
function styled(style: Style, text: string, stream: NodeJS.WriteStream): string {
  return process.getBuiltinModule("node:util").styleText(style, text, { stream });
}
