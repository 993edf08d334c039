// A worker with OPTIONS on the inbox of DATABASE_URL and SCHEMA, or of the SQLite file FILE. The handler of the event
// "deadly" kills the process. Prints "ran <id>" for every other event whose handler was started.
import { writeSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { createWorker, type InboxQueue } from "@esim-webhooks/core";
import { postgresInbox } from "@esim-webhooks/store-postgres";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";

const { DATABASE_URL: url = "", SCHEMA: schema = "", FILE: path, OPTIONS = "{}" } = process.env;
const inbox = path === undefined ? postgresInbox({ url, schema }) : sqliteInbox({ path });
const handler = async ({ id }: { id: string }) => {
  if (id === "deadly") {
    await pause(50); // for those that were taken with it to start
    process.kill(process.pid, "SIGKILL");
  }
  writeSync(1, `ran ${id}\n`); // so that nothing said is lost in a kill
  await pause(200);
};
const stopping = new AbortController();
process.once("SIGTERM", () => stopping.abort());
await createWorker(inbox as InboxQueue, { "*": handler }, JSON.parse(OPTIONS)).run({
  signal: stopping.signal,
});
await inbox.close();
