import { type Application, buildApplication, buildRouteMap } from "@stricli/core";
import { completion } from "./commands/completion.ts";
import { doctor } from "./commands/doctor.ts";
import { importCommand } from "./commands/import.ts";
import { inbox } from "./commands/inbox.ts";
import { send } from "./commands/send.ts";
import { serve } from "./commands/serve.ts";
import { verify } from "./commands/verify.ts";
import { work } from "./commands/work.ts";
import type { CliContext } from "./context.ts";
import { text } from "./error-text.ts";
import { exitCodeOfError } from "./exit-code.ts";

export const programName = "esim-webhooks";

/** Commands by name. What they do is loaded when they are called. */
export const app: Application<CliContext> = buildApplication(
  buildRouteMap<string, CliContext>({
    routes: { serve, work, send, verify, import: importCommand, inbox, doctor, completion },
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

/** By modules that Node.js has loaded already: importing others would double the time that this takes. */
async function readVersion(): Promise<string> {
  const { readFileSync } = process.getBuiltinModule("node:fs");
  const manifest = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}
