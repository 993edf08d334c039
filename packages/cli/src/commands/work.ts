import { command, help } from "../flags/command.ts";
import { workFlags } from "../work/flags.ts";

export const work = command({
  load: async () => (await import("../work/work.ts")).work,
  flags: workFlags,
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
