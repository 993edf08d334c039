import { replayRequestFlags } from "../endpoint/flags.ts";
import { command, help } from "../flags/command.ts";

export const replayRequest = command({
  load: async () => (await import("../endpoint/replay-request.ts")).replayRequest,
  flags: replayRequestFlags,
  docs: help(
    "List the events that only support can send again",
    [
      "Prints a text for support, without personal data: the times of the last 7 days in which the endpoint was inactive or not",
      "subscribed, as passes of reconcile have noted them, the deliveries that the service has given up and reconcile has not",
      "recovered, and those that were acknowledged and lost. The next reconcile or import says which of them have arrived.",
      "Ends with 3 if there is something to ask for.",
    ].join("\n"),
    [
      "esim-webhooks replay-request > request.txt",
      "esim-webhooks replay-request --json --endpoint WHE6JJ1OFDTD",
    ],
  ),
});
