import { buildCommand, type Command } from "@stricli/core";
import { wholeNumber } from "../flags/number-flag.ts";
import { jsonFlag, setUpFlags } from "../flags/set-up-flags.ts";
import type { CliContext } from "../program/context.ts";
import { help } from "../program/help.ts";
import type { ServeFlags } from "../serve/serve.ts";

export const serve: Command<CliContext> = buildCommand<ServeFlags, [], CliContext>({
  loader: async () => (await import("../serve/serve.ts")).serve,
  parameters: {
    flags: {
      ...setUpFlags,
      port: {
        kind: "parsed",
        parse: wholeNumber(0, 65_535),
        optional: true,
        placeholder: "number",
        brief: "What to listen at; 0: a free port. Default: PORT, the config's, or 3000",
      },
      host: {
        kind: "parsed",
        parse: String,
        optional: true,
        brief: "The address to listen at. Default: the config's, or 127.0.0.1",
      },
      path: {
        kind: "parsed",
        parse: String,
        optional: true,
        brief: "Where deliveries are taken. Default: the config's, or /webhooks",
      },
      json: jsonFlag,
    },
  },
  docs: help(
    "Receive webhooks",
    [
      "Receives deliveries and prints what becomes of each: on a terminal for people, elsewhere as JSON lines.",
      "With handlers in the config they are worked; else they are stored in an inbox, for workers.",
      "Ends after SIGINT or SIGTERM, once what it has accepted is done; a second signal ends it at once.",
    ].join("\n"),
    [
      "esim-webhooks serve",
      "esim-webhooks serve --port 8080 --host 0.0.0.0",
      "esim-webhooks serve | tee deliveries.ndjson",
    ],
  ),
});
