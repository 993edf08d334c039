import { reconcileFlags } from "../endpoint/flags.ts";
import { command, help } from "../flags/command.ts";

export const reconcile = command({
  load: async () => (await import("../endpoint/reconcile.ts")).reconcile,
  flags: reconcileFlags,
  docs: help(
    "Recover the events that were missed",
    [
      "Reads the deliveries of an endpoint, and recovers every event that the configured inbox or handlers do not have:",
      "those that the service has given up, and those that were acknowledged and lost. What it still sends again is left",
      "alone. Events that are stored or done are duplicates and do not run again, so it can always be repeated. It keeps how",
      "far it has come, and reads on from there. The listing reaches back 7 days. Ends with 3 when something was",
      "recovered or did not get through, and when the endpoint is inactive, or was in the last 7 days: no listing has",
      "the events of that time. --acknowledge-gaps ends that report.",
    ].join("\n"),
    [
      "esim-webhooks reconcile --since 2d",
      "esim-webhooks reconcile",
      "esim-webhooks reconcile --every 5m --since 1h --json",
      "esim-webhooks reconcile --since 7d --dry-run --endpoint WHE6JJ1OFDTD",
    ],
  ),
});
