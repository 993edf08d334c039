import { eventsFlags } from "../events/flags.ts";
import { command, help } from "../flags/command.ts";

export const events = command({
  load: async () => (await import("../events/events.ts")).events,
  flags: eventsFlags,
  args: [{ placeholder: "type", optional: true, brief: "Print the JSON Schema of the data of this type" }],
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
