import type { Command } from "@stricli/core";
import { configFlag, jsonFlag, wholeNumber } from "../flags/flag-kinds.ts";
import { command, help } from "../program/command.ts";
import type { CliContext } from "../program/context.ts";
import type { SendFlags } from "../send/send.ts";

export const send: Command<CliContext> = command<SendFlags, [string]>({
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
        placeholder: "url",
        brief: "The receiver's URL. Default: where serve listens on this machine",
      },
      data: {
        kind: "parsed",
        parse: String,
        variadic: true,
        optional: true,
        placeholder: "name=value",
        brief: "Set a field of the data: a JSON value, else text; a.b=1 sets b within a. Repeatable",
      },
      body: {
        kind: "parsed",
        parse: String,
        optional: true,
        placeholder: "file",
        brief:
          "A JSON file with the data, or with a whole body (type, timestamp, data); - for standard input",
      },
      id: {
        kind: "parsed",
        parse: String,
        optional: true,
        placeholder: "id",
        brief: "The webhook-id. Default: a new id for each delivery",
      },
      times: {
        kind: "parsed",
        parse: wholeNumber(1),
        optional: true,
        placeholder: "number",
        brief: "How many deliveries to send, one after the other. Default 1",
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
        placeholder: "fault",
        brief: "Send a faulty or unusual delivery",
      },
      config: configFlag,
      json: jsonFlag,
    },
  },
  docs: help(
    "Send a signed delivery",
    [
      "Signs an event with the secret in ESIM_WEBHOOK_SECRET or in the config, sends it and shows the answer. Without --data",
      "or --body, the data is made up. Ends with 0 for the expected answer (2xx, or what the --fault should get), with 3 for",
      "another answer, and with 1 when there is no answer.",
    ].join("\n"),
    [
      "esim-webhooks send esim.faulted",
      "esim-webhooks send esim.balance.updated --data amount=250 --data reason=top_up",
      "esim-webhooks send esim.enabled --fault tampered",
      "esim-webhooks send package.ended --body ended.json --url https://example.com/webhooks",
    ],
  ),
});
