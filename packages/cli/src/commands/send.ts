import { buildCommand, type Command } from "@stricli/core";
import { wholeNumber } from "../flags/number-flag.ts";
import { configFlag, jsonFlag } from "../flags/set-up-flags.ts";
import type { CliContext } from "../program/context.ts";
import { help } from "../program/help.ts";
import type { SendFlags } from "../send/send.ts";

export const send: Command<CliContext> = buildCommand<SendFlags, [string], CliContext>({
  loader: async () => (await import("../send/send.ts")).send,
  parameters: {
    positional: {
      kind: "tuple",
      parameters: [{ parse: String, placeholder: "type", brief: "The event type, such as esim.faulted" }],
    },
    flags: {
      url: {
        kind: "parsed",
        parse: String,
        optional: true,
        brief: "Where to send it. Default: where serve listens on this machine",
      },
      data: {
        kind: "parsed",
        parse: String,
        variadic: true,
        optional: true,
        placeholder: "name=value",
        brief: "Set a field of the data, as often as you like: JSON, else text; a.b=1 is within a",
      },
      body: {
        kind: "parsed",
        parse: String,
        optional: true,
        placeholder: "file",
        brief: "Data from a JSON file, or - for standard input; or a whole body of type, timestamp and data",
      },
      id: {
        kind: "parsed",
        parse: String,
        optional: true,
        brief: "The webhook-id. Default: a new one for each",
      },
      times: {
        kind: "parsed",
        parse: wholeNumber(1),
        optional: true,
        placeholder: "number",
        brief: "How many to send, one after the other. Default 1",
      },
      fault: {
        kind: "enum",
        values: [
          "tampered",
          "stale",
          "future",
          "wrong_key",
          "rotated",
          "duplicate",
          "unknown_type",
          "invalid",
        ],
        optional: true,
        brief: "What is to be wrong, or special, with it",
      },
      config: configFlag,
      json: jsonFlag,
    },
  },
  docs: help(
    "Send a signed delivery",
    [
      "Signs an event with the secret of ESIM_WEBHOOK_SECRET or of the config, sends it and shows the answer. Its data is",
      "made up unless you give it. Ends with 0 when the answer is as it should be: 2xx, or what the fault should get; else",
      "with 3, and with 1 when there is no answer.",
    ].join("\n"),
    [
      "esim-webhooks send esim.faulted",
      "esim-webhooks send esim.balance.updated --data amount=250 --data reason=top_up",
      "esim-webhooks send esim.enabled --fault tampered",
      "esim-webhooks send package.created --body created.json --url https://example.com/webhooks",
    ],
  ),
});
