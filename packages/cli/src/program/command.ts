import {
  type BaseArgs,
  buildCommand,
  buildRouteMap,
  type Command,
  type CommandBuilderArguments,
  type RouteMap,
  type RouteMapBuilderArguments,
} from "@stricli/core";
import type { CliContext } from "./context.ts";
import { commandHelp, groupHelp } from "./help-text.ts";

/** Builds a command, with a help that fits the terminal. */
export function command<
  const Flags extends Readonly<Partial<Record<keyof Flags, unknown>>>,
  const Args extends BaseArgs,
>(parts: CommandBuilderArguments<Flags, Args, CliContext>): Command<CliContext> {
  const built = buildCommand<Flags, Args, CliContext>(parts);
  return { ...built, formatHelp: (request) => commandHelp(built, request) };
}

/** Builds a group of commands, with a help that fits the terminal. */
export function group<Name extends string>(
  parts: RouteMapBuilderArguments<Name, CliContext>,
): RouteMap<CliContext> {
  const built: RouteMap<CliContext> = {
    ...buildRouteMap<Name, CliContext>(parts),
    formatUsageLine: ({ prefix }) => [...prefix, "<command>"].join(" "),
  };
  return { ...built, formatHelp: (request) => groupHelp(built, request) };
}

/** A command's help: a line for the list of commands, a description, examples. */
export function help(
  brief: string,
  description: string,
  examples: readonly string[],
): { brief: string; fullDescription: string } {
  const lines = examples.map((example) => `  ${example}`);
  return { brief, fullDescription: [description, "", "EXAMPLES", ...lines].join("\n") };
}
