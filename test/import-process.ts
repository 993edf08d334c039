// A process for tests: imports the file of DUMP into the inbox of DATABASE_URL and SCHEMA. Says "put" after each put, with
// PAUSE_MS before it, and at the end how many events it has put, and the report. Kills itself KILL_AFTER_MS after the
// put of number KILL_AT, where that is given.
import { createReadStream } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import type { InboxEntry } from "@esim-webhooks/core";
import { type ImportOptions, importDeliveries } from "@esim-webhooks/import";
import { postgresInbox } from "@esim-webhooks/store-postgres";

const environment = process.env;
const pauseMs = Number(environment["PAUSE_MS"] ?? 0);
const inbox = postgresInbox({
  url: environment["DATABASE_URL"] ?? "",
  schema: environment["SCHEMA"] ?? "",
  timeoutMs: 60_000,
});
let puts = 0;
let putEvents = 0;
const target = {
  ...inbox,
  async put(entries: readonly InboxEntry[]) {
    await pause(pauseMs);
    const results = await inbox.put(entries);
    puts += 1;
    putEvents += entries.length;
    console.log("put");
    if (puts === Number(environment["KILL_AT"])) {
      setTimeout(() => process.kill(process.pid, "SIGKILL"), Number(environment["KILL_AFTER_MS"]));
    }
    return results;
  },
};
const options = JSON.parse(environment["OPTIONS"] ?? "{}") as ImportOptions;
const report = await importDeliveries(createReadStream(environment["DUMP"] ?? ""), target, options);
console.log(`report ${JSON.stringify({ ...report, putEvents })}`);
await inbox.close();
