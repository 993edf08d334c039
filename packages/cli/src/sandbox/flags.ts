import { type FlagValues, sets } from "../flags/flag.ts";
import {
  choiceFlag,
  numberFlag,
  parsedFlag,
  portFlag,
  repeatedFlag,
  switchFlag,
  textFlag,
} from "../flags/flag-kinds.ts";
import { invalidUsage } from "../program/program-error.ts";

export type SandboxFlags = FlagValues<typeof sandboxFlags>;

export const sandboxFlags = {
  port: sets(
    "port",
    portFlag(
      "The port of the API, on 127.0.0.1; 0: any free port. The control side takes the next one, unless --control-port is given. Default: 4010",
    ),
  ),
  controlPort: sets(
    "controlPort",
    portFlag(
      "The port of the control side and its page. Default: the one after --port; with --port 0, any free port",
    ),
  ),
  speed: sets(
    "speed",
    numberFlag("How many times as fast as real time its clock goes. Default: 1", {
      max: 1_000_000,
      placeholder: "n",
    }),
  ),
  clock: sets("clock", choiceFlag(["manual"], "manual: its clock stands still until you advance it")),
  data: textFlag("folder", "Keep the state in this folder. Default: in memory"),
  seed: sets("seed", numberFlag("Makes random faults happen again in the same way", { min: 0 })),
  set: sets(
    "switches",
    repeatedFlag(
      parsedFlag(parseSetting, "name=value", "Set a switch, such as inFlight=423; may be repeated"),
    ),
    Object.fromEntries<string>,
  ),
  json: switchFlag("Print the addresses and the credentials as one line of JSON"),
};

/** Parses `name=value`. Throws `invalid_usage`. */
function parseSetting(text: string): readonly [name: string, value: string] {
  const [, name, value] = /^(\w+)=(.*)$/.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return [name, value];
  throw invalidUsage(`"${text}" is not a switch and its value.`, "Write it as inFlight=423.");
}
