import type { FlagValues } from "../flags/flag.ts";
import { jsonFlag, setUpFlags, switchFlag, textsFlag } from "../flags/flag-kinds.ts";

export type EventsFlags = FlagValues<typeof eventsFlags>;

export const eventsFlags = {
  asyncapi: switchFlag("Print an AsyncAPI 3 document of all types"),
  json: jsonFlag,
};

export type DriftFlags = FlagValues<typeof driftFlags>;

export const driftFlags = {
  ...setUpFlags,
  types: textsFlag("type", "Only these types or families, such as esim.lifecycle.*"),
  acknowledge: switchFlag("End these findings: the same change is not found again"),
  json: jsonFlag,
};

export type DescribeFlags = FlagValues<typeof describeFlags>;

export const describeFlags = {
  ...setUpFlags,
  json: switchFlag("Print a JSON Schema"),
};
