import type { FlagValues } from "../flags/flag.ts";
import { jsonFlag, switchFlag } from "../flags/flag-kinds.ts";

export type EventsFlags = FlagValues<typeof eventsFlags>;

export const eventsFlags = {
  asyncapi: switchFlag("Print an AsyncAPI 3 document of all types"),
  json: jsonFlag,
};
