import type { FlagValues } from "../flags/flag.ts";
import {
  durationFlag,
  numberFlag,
  setUpAndJsonFlags,
  textFlag,
  textsFlag,
  withDefault,
} from "../flags/flag-kinds.ts";

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
  inventory: numberFlag(
    "Fail when at most this many eSIMs of a variant can still be ordered. Default: warn when none can",
    { min: 0 },
  ),
  variants: textsFlag("variant,…", "The eSIM variants in use. Default: all that the client may order"),
  ...setUpAndJsonFlags,
};
