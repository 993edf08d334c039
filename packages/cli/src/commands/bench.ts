import { benchFlags } from "../bench/flags.ts";
import { command, help } from "../flags/command.ts";

export const bench = command({
  load: async () => (await import("../bench/bench.ts")).bench,
  flags: benchFlags,
  docs: help(
    "Measure your database",
    [
      "Measures how many events a second one process stores in your database and handles from it. Stores at most",
      "100,000 events for half of the time, 100 at a time; then a worker takes and settles them, 20 at a time, with a",
      "handler that does nothing. Never touches your inbox: uses a new schema of the Postgres, or a new folder next to",
      "the SQLite file, and removes it at the end, also after Ctrl-C. Loads the database meanwhile.",
    ].join("\n"),
    [
      "esim-webhooks bench",
      "DATABASE_URL=postgres://… esim-webhooks bench --seconds 30",
      "esim-webhooks bench --inbox data/events.db --json | jq .stored.perSecond",
    ],
  ),
});
