import type { Command } from "@stricli/core";
import {
  configFlag,
  durationFlag,
  jsonFlag,
  switchFlag,
  textFlag,
  textsFlag,
  timeFlag,
} from "../flags/flag-kinds.ts";
import type { ListenFlags } from "../listen/session.ts";
import { command, help } from "../program/command.ts";
import type { CliContext } from "../program/context.ts";

export const listen: Command<CliContext> = command<ListenFlags, []>({
  loader: async () => (await import("../listen/listen.ts")).listen,
  parameters: {
    flags: {
      to: textFlag("url", "The receiver's URL. Default: where serve listens on this machine"),
      endpoint: textFlag("reference", "Whose events. Default: the client's only endpoint"),
      since: timeFlag(
        "Begin with the events since then: 2h or 7d ago, yesterday, a day, a date-time. Default: now",
      ),
      only: textsFlag("type,…", "Only events of these types, or families such as esim.lifecycle.*"),
      id: textFlag("id", "Post this event once, and end"),
      every: durationFlag("How often the listing is read", "2s", { min: "1s", max: "1h" }),
      allowRemote: switchFlag("Let --to name another machine, which then gets personal data"),
      payloads: switchFlag("Print the payload of each event, with personal data masked"),
      reveal: switchFlag("Print the payload of each event as it is, with personal data"),
      config: configFlag,
      json: jsonFlag,
    },
  },
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
