import { buildCommand, type Command } from "@stricli/core";
import { wholeNumber } from "../flags/number-flag.ts";
import { jsonFlag, setUpFlags } from "../flags/set-up-flags.ts";
import type { CliContext } from "../program/context.ts";
import { help } from "../program/help.ts";
import type { WorkFlags } from "../work/work.ts";

export const work: Command<CliContext> = buildCommand<WorkFlags, [], CliContext>({
  loader: async () => (await import("../work/work.ts")).work,
  parameters: {
    flags: {
      ...setUpFlags,
      concurrency: {
        kind: "parsed",
        parse: wholeNumber(1),
        optional: true,
        placeholder: "number",
        brief: "How many events are worked at the same time. Default: the config's, or 20",
      },
      json: jsonFlag,
    },
  },
  docs: help(
    "Work the events of an inbox",
    [
      "Works what an inbox has stored with the handlers of the config file, and prints what becomes of each event.",
      "Run as many as you like on Postgres; an embedded inbox is for a single process, which `serve` is already.",
      "Ends after SIGINT or SIGTERM, once the handlers that run have ended; a second signal ends it at once.",
    ].join("\n"),
    ["esim-webhooks work", "DATABASE_URL=postgres://… esim-webhooks work --concurrency 50"],
  ),
});
