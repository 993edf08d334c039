import type { Command } from "@stricli/core";
import { switchFlag, textFlag, wholeNumber } from "../flags/flag-kinds.ts";
import { command, help } from "../program/command.ts";
import type { CliContext } from "../program/context.ts";
import { parseSetting, type SandboxFlags } from "../sandbox/flags.ts";

export const sandbox: Command<CliContext> = command<SandboxFlags, []>({
  loader: async () => (await import("../sandbox/sandbox.ts")).sandbox,
  parameters: {
    flags: {
      port: {
        kind: "parsed",
        parse: wholeNumber(0, 65_535),
        optional: true,
        placeholder: "number",
        brief:
          "The port of the API, on 127.0.0.1; 0: any free port. The control side takes the next one, unless --control-port is given. Default: 4010",
      },
      controlPort: {
        kind: "parsed",
        parse: wholeNumber(0, 65_535),
        optional: true,
        placeholder: "number",
        brief:
          "The port of the control side and its page. Default: the one after --port; with --port 0, any free port",
      },
      speed: {
        kind: "parsed",
        parse: wholeNumber(1, 1_000_000),
        optional: true,
        placeholder: "n",
        brief: "How many times as fast as real time its clock goes. Default: 1",
      },
      clock: {
        kind: "enum",
        values: ["manual"],
        optional: true,
        brief: "manual: its clock stands still until you advance it",
      },
      data: textFlag("folder", "Keep the state in this folder. Default: in memory"),
      seed: {
        kind: "parsed",
        parse: wholeNumber(0),
        optional: true,
        placeholder: "number",
        brief: "Makes random faults happen again in the same way",
      },
      set: {
        kind: "parsed",
        parse: parseSetting,
        optional: true,
        variadic: true,
        placeholder: "name=value",
        brief: "Set a switch, such as inFlight=423; may be repeated",
      },
      json: switchFlag("Print the addresses and the credentials as one line of JSON"),
    },
  },
  docs: help(
    "Run the partner service on this machine",
    [
      "Runs the partner service on 127.0.0.1: its API, its webhooks, and a control side where you play the device, the operator and support.",
      "Open the address of the control side in a browser for its page. The README of @esim-webhooks/sandbox names the page of its calls, switches and faults.",
      "Its credentials are made up and open nothing but this sandbox.",
    ].join("\n"),
    [
      "esim-webhooks sandbox",
      "esim-webhooks sandbox --speed 60 --data .sandbox",
      "esim-webhooks sandbox --port 0 --clock manual --set inFlight=423 --json",
    ],
  ),
});
