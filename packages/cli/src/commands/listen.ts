import { command, help } from "../flags/command.ts";
import { listenFlags } from "../listen/flags.ts";

export const listen = command({
  load: async () => (await import("../listen/listen.ts")).listen,
  flags: listenFlags,
  docs: help(
    "Post real events to this machine",
    [
      "Reads the deliveries listing of an endpoint, and posts each event once to a receiver on this machine, oldest first, signed",
      "with the secret in ESIM_WEBHOOK_SECRET or in the config. No tunnel is needed. An event that is not answered with 2xx is",
      "posted up to 4 times; a receiver that is not there is waited for. Needs the credentials of the partner API. Ctrl-C ends it:",
      "with 0 if all events were accepted, else with 3.",
    ].join("\n"),
    [
      "esim-webhooks listen --to http://localhost:3000/webhooks",
      "esim-webhooks listen --since 2h --only 'esim.lifecycle.*,esim.faulted'",
      "esim-webhooks listen --id msg_JX6UJR6QT03HFWX8JF3W  # once more, and end",
    ],
  ),
});
