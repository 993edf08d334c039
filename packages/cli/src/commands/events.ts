import type { Command } from "@stricli/core";
import type { EventsFlags } from "../events/events.ts";
import { jsonFlag, switchFlag } from "../flags/flag-kinds.ts";
import { command, help } from "../program/command.ts";
import type { CliContext } from "../program/context.ts";

export const events: Command<CliContext> = command<EventsFlags, [string?]>({
  loader: async () => (await import("../events/events.ts")).events,
  parameters: {
    positional: {
      kind: "tuple",
      parameters: [
        {
          parse: String,
          placeholder: "type",
          optional: true,
          brief: "Print the JSON Schema of the data of this type",
        },
      ],
    },
    flags: {
      asyncapi: switchFlag("Print an AsyncAPI 3 document of all types"),
      json: jsonFlag,
    },
  },
  docs: help(
    "List the event types",
    "Lists the event types whose fields are documented, or prints them for other programs: as an AsyncAPI document, or the data of one type as a JSON Schema.",
    [
      "esim-webhooks events",
      "esim-webhooks events --asyncapi > asyncapi.json",
      "esim-webhooks events esim.faulted",
    ],
  ),
});
