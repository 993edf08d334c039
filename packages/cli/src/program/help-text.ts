import type { Command, RouteMap } from "@stricli/core";
import { wrapped } from "../terminal/text.ts";
import type { CliContext } from "./context.ts";
import type { ParserText } from "./parser-text.ts";
import { flagText } from "./shell.ts";

/** The parser's request for the help of a command. */
export type HelpRequest = Parameters<Command<CliContext>["formatHelp"]>[0];
type Flag = NonNullable<Command<CliContext>["parameters"]["flags"]>[string];

/** A line of a list: a name, and what it means. */
type Entry = readonly [name: string, meaning: string];

const narrowest = 40;
const widest = 100;
/** The room of the names in a list. A longer one has its meaning on the next lines. */
const nameColumns = 22;

/** The help of a command, in lines that fit the terminal. */
export function commandHelp(command: Command<CliContext>, request: HelpRequest): string {
  const { flags = {}, positional } = command.parameters;
  const positionals = positional?.kind === "tuple" ? positional.parameters : [];
  return helpOf(command, request, [
    [request.text.headers.flags, [...Object.entries(flags).map(entryOf), ...generalFlags(request)]],
    [
      request.text.headers.arguments,
      positionals.map(({ placeholder = "", brief, optional }) => [
        optional ? `[${placeholder}]` : `<${placeholder}>`,
        brief,
      ]),
    ],
  ]);
}

/** The help of a group of commands. */
export function groupHelp(group: RouteMap<CliContext>, request: HelpRequest): string {
  const entries = group.getAllEntries().filter(({ hidden }) => !hidden);
  const usage = ({ name, target }: (typeof entries)[number]) =>
    target.formatUsageLine({ ...request, prefix: [name.original] });
  return helpOf(group, request, [
    [request.text.headers.commands, entries.map((entry) => [usage(entry), entry.target.brief])],
    [request.text.headers.flags, generalFlags(request)],
  ]);
}

function helpOf(
  target: Command<CliContext> | RouteMap<CliContext>,
  request: HelpRequest,
  lists: readonly (readonly [title: string, entries: readonly Entry[]])[],
): string {
  const { columns } = request.text as HelpRequest["text"] & Pick<ParserText, "columns">;
  const width = Math.max(narrowest, Math.min(columns, widest));
  const heading = (title: string) => (request.ansiColor ? `\u001b[4m${title}\u001b[24m` : title);
  return [
    heading(request.text.headers.usage),
    `  ${target.formatUsageLine(request)}`,
    "",
    ...paragraphs(target.fullDescription ?? target.brief, width),
    ...lists
      .filter(([, entries]) => entries.length > 0)
      .flatMap(([title, entries]) => ["", heading(title), ...listed(entries, width)]),
    "",
  ].join("\n");
}

/** The text with its lines filled, except for the examples: one that is too long is continued after a backslash. */
function paragraphs(text: string, width: number): readonly string[] {
  return text.split("\n\n").flatMap((paragraph, index) => {
    const lines = paragraph.split("\n");
    const isList = lines.some((line) => line.startsWith(" "));
    const filled = isList ? lines.flatMap((line) => continued(line, width)) : wrapped(lines.join(" "), width);
    return [...(index > 0 ? [""] : []), ...filled];
  });
}

function continued(line: string, width: number): readonly string[] {
  if (line.length <= width) return [line];
  const parts = wrapped(line.trim(), width - 6);
  return parts.map((part, index) => {
    const indent = index === 0 ? "  " : "    ";
    return index < parts.length - 1 ? `${indent}${part} \\` : indent + part;
  });
}

function listed(entries: readonly Entry[], width: number): readonly string[] {
  const longest = Math.max(...entries.map(([name]) => name.length));
  const column = Math.min(longest, nameColumns) + 4;
  return entries.flatMap(([name, meaning]) => {
    const [first = "", ...rest] = wrapped(meaning, width - column).map((line) => " ".repeat(column) + line);
    const head = `  ${name}`;
    return head.length + 2 > column
      ? [head, first, ...rest]
      : [head.padEnd(column) + first.slice(column), ...rest];
  });
}

function entryOf([name, flag]: readonly [string, Flag]): Entry {
  const flagName = flagText(name);
  const value = "placeholder" in flag ? flag.placeholder : undefined;
  return [value === undefined ? flagName : `${flagName} <${value}>`, meaningOf(flag)];
}

/** The effect of a flag, its values if it takes only some, and its default. */
function meaningOf(flag: Flag): string {
  const values = flag.kind === "enum" ? [`One of: ${flag.values.join(", ")}`] : [];
  const preset = "default" in flag && flag.default !== undefined ? [`Default: ${String(flag.default)}`] : [];
  return [flag.brief, ...values, ...preset].join(". ");
}

/** The flags of the program itself, such as --help. */
function generalFlags({ additionalFlags, includeHidden }: HelpRequest): readonly Entry[] {
  return additionalFlags
    .filter(({ hidden }) => includeHidden || !hidden)
    .map(({ name, aliases = [], brief }) => [
      [`--${name}`, ...aliases.map((alias) => `-${alias}`)].join(", "),
      brief,
    ]);
}
