import type { Command } from "@stricli/core";
import { type RotateFlags, rotateFlags } from "../endpoint/flags.ts";
import { command, help } from "../program/command.ts";
import type { CliContext } from "../program/context.ts";

export const rotate: Command<CliContext> = command<RotateFlags, []>({
  loader: async () => (await import("../endpoint/rotate.ts")).rotate,
  parameters: { flags: rotateFlags },
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
      "esim-webhooks rotate --endpoint WHE6JJ1OFDTD --key-file /run/secrets/esim-webhooks.json",
    ],
  ),
});
