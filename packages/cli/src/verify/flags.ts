import type { FlagValues } from "../flags/flag.ts";
import { configFlag, jsonFlag, numberFlag, timeFlag } from "../flags/flag-kinds.ts";

export type VerifyFlags = FlagValues<typeof verifyFlags>;

export const verifyFlags = {
  at: timeFlag(
    "When the request was received: a date-time, or how long ago. Default: its receivedAt, or now",
    "time",
  ),
  tolerance: numberFlag("How far its timestamp may be from that time. Default 300", {
    placeholder: "seconds",
  }),
  config: configFlag,
  json: jsonFlag,
};
