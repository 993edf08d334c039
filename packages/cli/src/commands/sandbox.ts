import { command, help } from "../flags/command.ts";
import { sandboxFlags } from "../sandbox/flags.ts";

export const sandbox = command({
  load: async () => (await import("../sandbox/sandbox.ts")).sandbox,
  flags: sandboxFlags,
  docs: help(
    "Run the partner service on this machine",
    [
      "Runs the partner service on 127.0.0.1: its API, its webhooks, and a control side where you play the device, the operator and support.",
      "Open the address of the control side in a browser for its page. The README of @esim-webhooks/sandbox names the page of its calls, switches and faults.",
      "Its credentials are made up and open nothing but this sandbox.",
    ].join("\n"),
    [
      "esim-webhooks sandbox",
      "esim-webhooks sandbox --speed 60 --data .sandbox",
      "esim-webhooks sandbox --port 0 --clock manual --set inFlight=423 --json",
    ],
  ),
});
