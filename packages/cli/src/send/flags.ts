import type { FlagValues } from "../flags/flag.ts";
import { choiceFlag, configFlag, jsonFlag, numberFlag, repeatedFlag, textFlag } from "../flags/flag-kinds.ts";

export type SendFlags = FlagValues<typeof sendFlags>;

export const sendFlags = {
  url: textFlag("url", "The receiver's URL. Default: where serve listens on this machine"),
  data: repeatedFlag(
    textFlag(
      "name=value",
      "Set a field of the data: a JSON value, else text; a.b=1 sets b within a. Repeatable",
    ),
  ),
  body: textFlag(
    "file",
    "A JSON file with the data, or with a whole body (type, timestamp, data); - for standard input",
  ),
  id: textFlag("id", "The webhook-id. Default: a new id for each delivery"),
  times: numberFlag("How many deliveries to send, one after the other. Default 1"),
  fault: choiceFlag(
    ["tampered", "stale", "future", "wrong_key", "rotated", "duplicate", "unknown_type", "invalid"],
    "Send a faulty or unusual delivery",
    "fault",
  ),
  config: configFlag,
  json: jsonFlag,
};
