import type { FlagValues } from "../flags/flag.ts";
import { durationFlag, jsonFlag, setUpFlags, textFlag, withDefault } from "../flags/flag-kinds.ts";

export type DoctorFlags = FlagValues<typeof doctorFlags>;

export const doctorFlags = {
  endpoint: textFlag(
    "reference",
    "The endpoint that this set-up receives for. Default: the client's only endpoint",
  ),
  silence: withDefault(
    "1d",
    durationFlag("Warn when the inbox has received no delivery for this long", { min: "1m", max: "365d" }),
  ),
  ...setUpFlags,
  json: jsonFlag,
};
