import { type Application, buildApplication, buildCommand, type Command } from "@stricli/core";
import { type CommandEntry, commands } from "./commands.ts";
import { group } from "./flags/command.ts";
import type { CliContext, CliProcess } from "./program/context.ts";
import { exitCodeOfError } from "./program/exit-code.ts";
import { parserText } from "./program/parser-text.ts";

const programName = "esim-webhooks";

/** The first argument that is the name of a command, in a list: only this command is loaded. Empty if there is none. */
export function commandIn(args: readonly string[]): readonly string[] {
  return args.filter((arg) => Object.hasOwn(commands, arg)).slice(0, 1);
}

/** The program with the named commands. The others are placeholders: `--help` lists them, but they cannot run. */
export async function createApp(
  process: CliProcess,
  loaded: readonly string[] = Object.keys(commands),
): Promise<Application<CliContext>> {
  const routes = Object.entries(commands).map(async ([name, entry]) => [
    name,
    loaded.includes(name) ? await entry.load() : placeholder(entry),
  ]);
  return buildApplication(
    group({
      routes: Object.fromEntries(await Promise.all(routes)),
      docs: {
        brief: "Webhooks of the eSIM partner API",
        fullDescription: [
          "Receives, processes, sends and checks webhooks of the eSIM partner API.",
          "",
          "EXAMPLES",
          "  export ESIM_WEBHOOK_SECRET=whsec_…  # its signingSecret",
          "  esim-webhooks serve",
          "  esim-webhooks send esim.faulted  # in another terminal",
          "",
          "Every command has --help. Exit codes: 0 success, 1 something it needs is unavailable, 2 the call or the config has a mistake, 3 it found a problem, 130 it was interrupted.",
        ].join("\n"),
      },
    }),
    {
      name: programName,
      versionInfo: { getCurrentVersion: () => readVersion(process) },
      scanner: { caseStyle: "allow-kebab-for-camel", allowArgumentEscapeSequence: true },
      documentation: { onlyRequiredInUsageLine: true, disableAnsiColor: "NO_COLOR" in process.env },
      localization: { text: parserText(process) },
      determineExitCode: exitCodeOfError,
    },
  );
}

function placeholder({ brief, usage }: CommandEntry): Command<CliContext> {
  const func = () => new TypeError(`"${brief}" was called before it was loaded.`);
  const command: Command<CliContext> = buildCommand({ func, parameters: {}, docs: { brief } });
  return { ...command, formatUsageLine: ({ prefix }) => [...prefix, ...(usage ? [usage] : [])].join(" ") };
}

/** Uses only a module that Node.js has already loaded: importing others would make `--version` take twice as long. */
async function readVersion(process: CliProcess): Promise<string> {
  const { readFileSync } = process.getBuiltinModule("node:fs");
  const manifest = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}
