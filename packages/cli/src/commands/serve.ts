import type { Command } from "@stricli/core";
import {
  durationFlag,
  jsonFlag,
  metricsFlags,
  optionalDurationFlag,
  setUpFlags,
  wholeNumber,
} from "../flags/flag-kinds.ts";
import { command, help } from "../program/command.ts";
import type { CliContext } from "../program/context.ts";
import type { ServeFlags } from "../serve/serve.ts";

export const serve: Command<CliContext> = command<ServeFlags, []>({
  loader: async () => (await import("../serve/serve.ts")).serve,
  parameters: {
    flags: {
      ...setUpFlags,
      port: {
        kind: "parsed",
        parse: wholeNumber(0, 65_535),
        optional: true,
        placeholder: "number",
        brief: "The port to listen on; 0: any free port. Default: PORT, the config's, or 3000",
      },
      host: {
        kind: "parsed",
        parse: String,
        optional: true,
        placeholder: "address",
        brief: "The address to listen on. Default: the config's, or 127.0.0.1",
      },
      path: {
        kind: "parsed",
        parse: String,
        optional: true,
        placeholder: "path",
        brief: "The path that accepts deliveries. Default: the config's, or /webhooks",
      },
      keepAlive: durationFlag(
        "How long a connection stays open after an answer: longer than the load balancer keeps it",
        "75s",
        { min: "1s", max: "1h" },
      ),
      drain: optionalDurationFlag(
        "How long to accept deliveries after the signal to stop, while the process is not ready. Default: not at all",
        { min: "1s", max: "1h" },
      ),
      ...metricsFlags,
      json: jsonFlag,
    },
  },
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
