import { doctorFlags } from "../doctor/flags.ts";
import { command, help } from "../flags/command.ts";

export const doctor = command({
  load: async () => (await import("../doctor/doctor.ts")).doctor,
  flags: doctorFlags,
  docs: help(
    "Check the set-up",
    [
      "Checks Node.js, the config file, the secret, the handlers, the worker's options, the folder and its disk, the store or inbox",
      "with its migrations, the clock against the database's, the eviction policy of Redis, the retention, what waits in the inbox,",
      "when reconcile last completed a pass, and when it received its last delivery: more than a day ago is a warning (--silence). With the credentials of the partner API",
      "(ESIM_API_URL, ESIM_CLIENT_ID, ESIM_CLIENT_SECRET), also the credentials, the clock against the service's, whether the",
      "endpoint is active, its event types against the handlers, how the last deliveries went, those that the service has given up,",
      "whether the receiver has the right key, and how many eSIMs can be ordered (--inventory). Changes nothing. Each line says ok or what to do. Ends with 3 when a check fails;",
      "a warning is no failure.",
    ].join("\n"),
    [
      "esim-webhooks doctor",
      "DATABASE_URL=postgres://… esim-webhooks doctor --json",
      "esim-webhooks doctor --silence 7d",
      "esim-webhooks doctor --endpoint WHEII53EXDON  # of several",
    ],
  ),
});
