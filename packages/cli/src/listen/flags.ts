import type { FlagValues } from "../flags/flag.ts";
import {
  configFlag,
  durationFlag,
  jsonFlag,
  switchFlag,
  textFlag,
  textsFlag,
  timeFlag,
  withDefault,
} from "../flags/flag-kinds.ts";

export type ListenFlags = FlagValues<typeof listenFlags>;

export const listenFlags = {
  to: textFlag("url", "The receiver's URL. Default: where serve listens on this machine"),
  endpoint: textFlag("reference", "Whose events. Default: the client's only endpoint"),
  since: timeFlag(
    "Begin with the events since then: 2h or 7d ago, yesterday, a day, a date-time. Default: now",
  ),
  only: textsFlag("type,…", "Only events of these types, or families such as esim.lifecycle.*"),
  id: textFlag("id", "Post this event once, and end"),
  every: withDefault("2s", durationFlag("How often the listing is read", { min: "1s", max: "1h" })),
  allowRemote: switchFlag("Let --to name another machine, which then gets personal data"),
  payloads: switchFlag("Print the payload of each event, with personal data masked"),
  reveal: switchFlag("Print the payload of each event as it is, with personal data"),
  config: configFlag,
  json: jsonFlag,
};
