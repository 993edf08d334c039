import { command, help } from "../flags/command.ts";
import { serveFlags } from "../serve/flags.ts";

export const serve = command({
  load: async () => (await import("../serve/serve.ts")).serve,
  flags: serveFlags,
  docs: help(
    "Receive webhooks",
    [
      "Receives deliveries and prints the outcome of each: as text on a terminal, elsewhere as JSON lines.",
      "Handlers in the config run before the answer; without handlers, or with a target, events are stored in an inbox.",
      "With handlers, it also processes the events that are in the inbox.",
      "On SIGINT or SIGTERM it finishes the deliveries it has accepted, then ends; a second signal ends it immediately.",
    ].join("\n"),
    [
      "esim-webhooks serve",
      "esim-webhooks serve --port 8080 --host 0.0.0.0",
      "esim-webhooks serve | tee deliveries.ndjson",
    ],
  ),
});
