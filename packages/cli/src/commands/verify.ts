import type { Command } from "@stricli/core";
import { configFlag, jsonFlag, timeFlag, wholeNumber } from "../flags/flag-kinds.ts";
import { command, help } from "../program/command.ts";
import type { CliContext } from "../program/context.ts";
import type { VerifyFlags } from "../verify/verify.ts";

export const verify: Command<CliContext> = command<VerifyFlags, [string?]>({
  loader: async () => (await import("../verify/verify.ts")).verify,
  parameters: {
    positional: {
      kind: "tuple",
      parameters: [
        {
          parse: String,
          placeholder: "file",
          optional: true,
          brief: "The file with the captured request. Default: -, standard input",
        },
      ],
    },
    flags: {
      at: timeFlag(
        "When the request was received: a date-time, or how long ago. Default: its receivedAt, or now",
        "time",
      ),
      tolerance: {
        kind: "parsed",
        parse: wholeNumber(1),
        optional: true,
        placeholder: "seconds",
        brief: "How far its timestamp may be from that time. Default 300",
      },
      config: configFlag,
      json: jsonFlag,
    },
  },
  docs: help(
    "Check whether a captured request is authentic",
    [
      'Reads JSON of the form { "headers": {…}, "body": "…", "receivedAt": "…" }, with the body as text, base64 or JSON,',
      "or the text of an HTTP request. Ends with 0 when the request is authentic; else says why not, and ends with 3.",
    ].join("\n"),
    [
      "esim-webhooks verify captured.json",
      "pbpaste | esim-webhooks verify",
      "esim-webhooks verify request.http --at 2026-11-20T09:30:00Z",
    ],
  ),
});
