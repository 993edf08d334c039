import { rotateFlags } from "../endpoint/flags.ts";
import { command, help } from "../flags/command.ts";

export const rotate = command({
  load: async () => (await import("../endpoint/rotate.ts")).rotate,
  flags: rotateFlags,
  docs: help(
    "Replace an endpoint's signing secret",
    [
      "Replaces the signing secret of an endpoint without losing an event: receivers that read the key store take the new key by",
      "themselves, and what the rotation may have cost is reconciled. Takes --overlap and some seconds. A run that was killed is",
      "continued by the next one. Exits with 3 if receivers refuse the new key.",
    ].join("\n"),
    [
      "esim-webhooks rotate --dry-run",
      "esim-webhooks rotate",
      "esim-webhooks rotate --endpoint WHE6JJ1OFDTD --key-file /var/lib/esim-webhooks/keys.json",
    ],
  ),
});
