import { command, help } from "../flags/command.ts";
import { verifyFlags } from "../verify/flags.ts";

export const verify = command({
  load: async () => (await import("../verify/verify.ts")).verify,
  flags: verifyFlags,
  args: [
    {
      placeholder: "file",
      optional: true,
      brief: "The file with the captured request. Default: -, standard input",
    },
  ],
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
