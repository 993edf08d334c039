import { type Application, buildApplication, buildCommand, buildRouteMap, type Command } from "@stricli/core";
import { commands, type Listed } from "./commands.ts";
import type { CliContext } from "./program/context.ts";
import { text } from "./program/error-text.ts";
import { exitCodeOfError } from "./program/exit-code.ts";

export const programName = "esim-webhooks";

/** The command that is called, so that no other one need be loaded. */
export function calledIn(args: readonly string[]): readonly string[] {
  return args.filter((arg) => Object.hasOwn(commands, arg)).slice(0, 1);
}

/** The program with the commands of these names, and of the others what the list of commands shows. */
export async function createApp(
  loaded: readonly string[] = Object.keys(commands),
): Promise<Application<CliContext>> {
  const routes = Object.entries(commands).map(async ([name, listed]) => [
    name,
    loaded.includes(name) ? await listed.load() : unloaded(listed),
  ]);
  return buildApplication(
    buildRouteMap<string, CliContext>({
      routes: Object.fromEntries(await Promise.all(routes)),
      docs: {
        brief: "Webhooks of the eSIM partner API",
        fullDescription: [
          "Receives, works, sends and explains webhooks of the eSIM partner API.",
          "",
          "EXAMPLES",
          "  export ESIM_WEBHOOK_SECRET=whsec_…   # the endpoint's signingSecret",
          "  esim-webhooks serve",
          "  esim-webhooks send esim.faulted      # in another terminal",
          "",
          "Every command has --help. It ends with 0 when all is well, 1 when something it needs is away, 2 when the call",
          "or the config is to be corrected, 3 when it found a problem, 130 when it was interrupted.",
        ].join("\n"),
      },
    }),
    {
      name: programName,
      versionInfo: { getCurrentVersion: readVersion },
      scanner: { caseStyle: "allow-kebab-for-camel", allowArgumentEscapeSequence: true },
      documentation: { onlyRequiredInUsageLine: true, disableAnsiColor: "NO_COLOR" in process.env },
      localization: { text },
      determineExitCode: exitCodeOfError,
    },
  );
}

function unloaded({ brief, usage }: Listed): Command<CliContext> {
  const func = () => new TypeError(`"${brief}" was called without having been loaded.`);
  const command: Command<CliContext> = buildCommand({ func, parameters: {}, docs: { brief } });
  return { ...command, formatUsageLine: ({ prefix }) => [...prefix, ...(usage ? [usage] : [])].join(" ") };
}

/** By modules that Node.js has loaded already: importing others would double the time that this takes. */
async function readVersion(): Promise<string> {
  const { readFileSync } = process.getBuiltinModule("node:fs");
  const manifest = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}
