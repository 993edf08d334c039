import { command, help } from "../flags/command.ts";
import { sendFlags } from "../send/flags.ts";

export const send = command({
  load: async () => (await import("../send/send.ts")).send,
  flags: sendFlags,
  args: [{ placeholder: "type", brief: "The event type, such as esim.faulted" }],
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
