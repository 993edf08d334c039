import { command, help } from "../flags/command.ts";
import { rehearseFlags } from "../rehearse/flags.ts";

export const rehearse = command({
  load: async () => (await import("../rehearse/rehearse.ts")).rehearse,
  flags: rehearseFlags,
  args: [{ placeholder: "dump", optional: true, brief: "A dump with the events, or - for standard input" }],
  docs: help(
    "Check a config with past events",
    [
      "Reads events of the last 7 days from the deliveries listing, from the bodies that the inbox",
      "keeps, or from a dump, and says which would be invalid, unknown or unhandled with the catalog",
      "and the handlers of a config. Runs no handler and changes nothing. Ends with 3 if there is one.",
    ].join("\n"),
    [
      "esim-webhooks rehearse --config next.config.ts --since 24h",
      "esim-webhooks rehearse --config next.config.ts --compare esim-webhooks.config.ts",
      "esim-webhooks rehearse dump.ndjson.gz --json",
    ],
  ),
});
