import { buildCommand, type Command } from "@stricli/core";
import type { DoctorFlags } from "../doctor/doctor.ts";
import { jsonFlag, setUpFlags } from "../flags/set-up-flags.ts";
import type { CliContext } from "../program/context.ts";
import { help } from "../program/help.ts";

export const doctor: Command<CliContext> = buildCommand<DoctorFlags, [], CliContext>({
  loader: async () => (await import("../doctor/doctor.ts")).doctor,
  parameters: { flags: { ...setUpFlags, json: jsonFlag } },
  docs: help(
    "Look whether everything is set up as it must be",
    [
      "Looks at Node.js, the config file, the secret, the handlers, the store or inbox with its migrations, the clock",
      "against the database's, Redis' eviction policy and retention. Changes nothing. Each line is ok, or says what to do.",
      "Ends with 3 when something is not ok.",
    ].join("\n"),
    ["esim-webhooks doctor", "DATABASE_URL=postgres://… esim-webhooks doctor --json"],
  ),
});
