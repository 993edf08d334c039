import type { FlagValues } from "../flags/flag.ts";
import { jsonFlag, numberFlag, textFlag, withDefault } from "../flags/flag-kinds.ts";

export type BenchFlags = FlagValues<typeof benchFlags>;

export const benchFlags = {
  inbox: textFlag(
    "url or path",
    "A postgres:// URL without a password, or an SQLite file or a folder. Default: DATABASE_URL, else the folder of the embedded inbox",
  ),
  seconds: withDefault("10", numberFlag("How long to measure at most", { max: 60, placeholder: "seconds" })),
  json: jsonFlag,
};
