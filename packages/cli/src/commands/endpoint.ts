import { ensureFlags } from "../endpoint/flags.ts";
import { command, group, help } from "../flags/command.ts";

const ensure = command({
  load: async () => (await import("../endpoint/ensure.ts")).ensure,
  flags: ensureFlags,
  args: [{ placeholder: "url", brief: "Where events are posted to" }],
  docs: help(
    "Find or register an endpoint, and check it",
    [
      "Finds the endpoint of the URL, or registers it for the event types that the handlers of the config take, and stores",
      "its secret where receivers read it. Says what is wrong with an endpoint that is there, and changes nothing of it;",
      "exits with 3 then. --replace changes its event types, by a second endpoint, and takes some minutes. A run that was",
      "killed is continued by the next one.",
    ].join("\n"),
    [
      "esim-webhooks endpoint ensure https://shop.example/webhooks",
      "esim-webhooks endpoint ensure https://shop.example/webhooks --types 'esim.*' --key-file esim.key",
      "esim-webhooks endpoint ensure https://shop.example/webhooks --replace",
      "esim-webhooks endpoint ensure https://shop.example/webhooks --json | jq -r '.findings[].code'",
    ],
  ),
});

export const endpoint = group({
  routes: { ensure },
  docs: help("Set up an endpoint", "Sets up the endpoint that the service sends events to.", [
    "esim-webhooks endpoint ensure https://shop.example/webhooks",
  ]),
});
