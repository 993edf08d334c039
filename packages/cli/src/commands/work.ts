import type { Command } from "@stricli/core";
import { jsonFlag, metricsFlags, setUpFlags, wholeNumber } from "../flags/flag-kinds.ts";
import { command, help } from "../program/command.ts";
import type { CliContext } from "../program/context.ts";
import type { WorkFlags } from "../work/work.ts";

export const work: Command<CliContext> = command<WorkFlags, []>({
  loader: async () => (await import("../work/work.ts")).work,
  parameters: {
    flags: {
      ...setUpFlags,
      concurrency: {
        kind: "parsed",
        parse: wholeNumber(1),
        optional: true,
        placeholder: "number",
        brief: "How many events to process at the same time. Default: the config's, or 20",
      },
      ...metricsFlags,
      json: jsonFlag,
    },
  },
  docs: help(
    "Process the events of an inbox",
    [
      "Processes the events of an inbox with the handlers in the config file, and prints the outcome of each event.",
      "Run as many workers as you like: on one machine with an embedded inbox, on any number of them with Postgres.",
      "On SIGINT or SIGTERM it waits for the handlers that are running, then ends; a second signal ends it immediately.",
    ].join("\n"),
    ["esim-webhooks work", "DATABASE_URL=postgres://… esim-webhooks work --concurrency 50"],
  ),
});
