import { buildCommand, buildRouteMap, type Command, type RouteMap } from "@stricli/core";
import type { CliContext } from "../program/context.ts";
import { commandHelp, groupHelp } from "../program/help-text.ts";
import type { Flags, FlagValues } from "./flag.ts";
import { errorInFlags } from "./in-flags.ts";

/** An argument, as help shows it. */
export interface Argument {
  readonly placeholder: string;
  readonly brief: string;
  readonly optional?: true;
}

interface Docs {
  readonly brief: string;
  readonly fullDescription: string;
}

interface CommandParts<F extends Flags> {
  /** Loads the function of the command, which help and completion do not need. */
  load(): Promise<(this: CliContext, flags: FlagValues<F>, ...args: string[]) => unknown>;
  readonly flags?: F;
  readonly args?: readonly Argument[];
  readonly docs: Docs;
}

/** Builds a command, with a help that fits the terminal. */
export function command<F extends Flags = Record<never, never>>({
  load,
  flags = {} as F,
  args = [],
  docs,
}: CommandParts<F>): Command<CliContext> {
  const parameters = args.map((argument) => ({ parse: String, ...argument }));
  const built = buildCommand<FlagValues<F>, string[], CliContext>({
    loader: async () => {
      const run = await load();
      return async function (this: CliContext, values: FlagValues<F>, ...words: string[]) {
        try {
          await run.call(this, values, ...words);
        } catch (error) {
          throw errorInFlags(error, flags);
        }
      };
    },
    parameters: { flags, positional: { kind: "tuple", parameters } } as never, // a flag's type is checked where it is declared
    docs,
  });
  return { ...built, formatHelp: (request) => commandHelp(built, request) };
}

interface GroupParts {
  readonly routes: Readonly<Record<string, Command<CliContext> | RouteMap<CliContext>>>;
  /** The command that runs when none is named. */
  readonly defaultCommand?: string;
  readonly docs: Docs;
}

/** Builds a group of commands, with a help that fits the terminal. */
export function group(parts: GroupParts): RouteMap<CliContext> {
  const built: RouteMap<CliContext> = {
    ...buildRouteMap<string, CliContext>(parts),
    formatUsageLine: ({ prefix }) => [...prefix, "<command>"].join(" "),
  };
  return { ...built, formatHelp: (request) => groupHelp(built, request) };
}

/** A command's help: a line for the list of commands, a description, examples. */
export function help(brief: string, description: string, examples: readonly string[]): Docs {
  const lines = examples.map((example) => `  ${example}`);
  return { brief, fullDescription: [description, "", "EXAMPLES", ...lines].join("\n") };
}
