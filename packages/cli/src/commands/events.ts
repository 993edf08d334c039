import { describeFlags, driftFlags, eventsFlags } from "../events/flags.ts";
import { command, group, help } from "../flags/command.ts";

const list = command({
  load: async () => (await import("../events/events.ts")).events,
  flags: eventsFlags,
  args: [{ placeholder: "type", optional: true, brief: "Print the JSON Schema of the data of this type" }],
  docs: help(
    "List the event types",
    "Lists the event types whose fields are documented, or prints them for other programs: as an AsyncAPI document, or the data of one type as a JSON Schema. The word list can be left out.",
    [
      "esim-webhooks events",
      "esim-webhooks events --asyncapi > asyncapi.json",
      "esim-webhooks events esim.faulted",
    ],
  ),
});

const drift = command({
  load: async () => (await import("../events/drift.ts")).drift,
  flags: driftFlags,
  docs: help(
    "Say how events differ from the catalog",
    "Lists new types, fields and values, fields that are missing and other JSON types in the deliveries that serve has received. Ends with 3 if there are any.",
    [
      "esim-webhooks events drift",
      "esim-webhooks events drift --types esim.faulted --acknowledge",
      "esim-webhooks events drift --json | jq -r .[].type",
    ],
  ),
});

const describe = command({
  load: async () => (await import("../events/describe.ts")).describe,
  flags: describeFlags,
  args: [{ placeholder: "type", brief: "The event type" }],
  docs: help(
    "Print what was seen of a type, as code",
    "Prints a type that serve has received as a zod schema for defineCatalog, or as a JSON Schema.",
    [
      "esim-webhooks events describe package.activated > catalog.ts",
      "esim-webhooks events describe package.activated --json",
    ],
  ),
});

export const events = group({
  routes: { list, drift, describe },
  defaultCommand: "list",
  docs: help(
    "List the event types, and how events differ",
    "Commands about event types. Without a command: list.",
    ["esim-webhooks events", "esim-webhooks events esim.faulted", "esim-webhooks events drift"],
  ),
});
