// Imports the undelivered events of a dump and processes them: `replay.ts <dump>`. Safe to run again.
import { createReadStream } from "node:fs";
import { createWorker, type EsimEvents, type Handlers } from "@esim-webhooks/core";
import { importDeliveries } from "@esim-webhooks/import";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";

const handlers: Handlers<EsimEvents> = {
  "*": ({ type }, { replayed }) => console.log("processed", type, replayed ? "from the dump" : "live"),
};

const stopping = new AbortController();
process.once("SIGINT", () => stopping.abort()).once("SIGTERM", () => stopping.abort());

const [dump = "support-dump.ndjson.gz"] = process.argv.slice(2);
const inbox = sqliteInbox({ path: `${process.env["DATA_DIR"] ?? "data"}/events.db` });

const report = await importDeliveries(createReadStream(dump), inbox, {
  statuses: ["failed", "exhausted"], // the undelivered events
  trustUnsigned: true, // a dump from support has no signatures: you vouch for it
  rejectsFile: `${dump}.rejects.ndjson`,
  checkpointFile: `${dump}.checkpoint.json`, // after an interruption, the next run continues there
  signal: stopping.signal,
});
console.log(JSON.stringify(report.ledger));
if (report.damage) console.error(report.damage.message);

await createWorker(inbox, handlers).run({ signal: stopping.signal });
await inbox.close();
