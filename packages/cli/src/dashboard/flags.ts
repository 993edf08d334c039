import type { FlagValues } from "../flags/flag.ts";
import { parsedFlag, portFlag, textFlag } from "../flags/flag-kinds.ts";
import { inboxFlags } from "../inbox/flags.ts";
import { invalidUsage } from "../program/program-error.ts";

export type DashboardFlags = FlagValues<typeof dashboardFlags>;

export const dashboardFlags = {
  port: portFlag("The port to listen on; 0: any free port. Default: 4020"),
  host: textFlag("address", "127.0.0.1, ::1 or localhost. Default: 127.0.0.1"),
  title: textFlag("name", "The name of the environment, such as production, shown on every view"),
  color: parsedFlag(parseColor, "hex", "The colour of the title, such as '#b42318'"),
  ...inboxFlags,
};

function parseColor(text: string): string {
  if (/^#[0-9a-f]{6}$/i.test(text)) return text;
  throw invalidUsage(`"${text}" is not a colour.`, "Write it as '#b42318', in quotes.");
}
