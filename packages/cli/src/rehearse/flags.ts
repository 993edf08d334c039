import type { FlagValues } from "../flags/flag.ts";
import { choiceFlag, endpointFlag, jsonFlag, setUpFlags, sinceFlag, textFlag } from "../flags/flag-kinds.ts";

export type RehearseFlags = FlagValues<typeof rehearseFlags>;

export const rehearseFlags = {
  ...setUpFlags,
  compare: textFlag("file", "The config in use now: only what is new since it is shown"),
  since: sinceFlag("Only events from this time on, such as 24h. Default: 7d"),
  from: choiceFlag(
    ["listing", "inbox"],
    "Where the events are read, without a dump. Default: listing with credentials of the API, else inbox",
  ),
  endpoint: endpointFlag,
  json: jsonFlag,
};
