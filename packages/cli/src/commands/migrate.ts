import { command, help } from "../flags/command.ts";
import { migrateFlags } from "../migrate/flags.ts";

export const migrate = command({
  load: async () => (await import("../migrate/migrate.ts")).migrate,
  flags: migrateFlags,
  docs: help(
    "Create or update the tables",
    [
      "Creates the tables of the store or the inbox, or updates them to this version, and ends. For a deploy with a database user",
      "of its own for this: serve, work and import do the same when they start, and need no such right when nothing is to be done.",
      "It sets up what the config file names; without a config file, Postgres at DATABASE_URL, or else the embedded inbox.",
    ].join("\n"),
    ["esim-webhooks migrate", "DATABASE_URL=postgres://owner@… esim-webhooks migrate"],
  ),
});
