// Brings the events back that never got through: `replay.ts <dump>`, as often as you like.
import { createReadStream } from "node:fs";
import { createWorker, type EsimEvents, type Handlers } from "@esim-webhooks/core";
import { importDeliveries } from "@esim-webhooks/import";
import { embeddedInbox } from "@esim-webhooks/store-postgres";

const handlers: Handlers<EsimEvents> = {
  "*": ({ type }, { replayed }) => console.log("worked", type, replayed ? "of the dump" : "as it came"),
};

const stopping = new AbortController();
process.once("SIGINT", () => stopping.abort()).once("SIGTERM", () => stopping.abort());

const [dump = "support-dump.ndjson.gz"] = process.argv.slice(2);
const inbox = embeddedInbox({ dataDir: process.env["DATA_DIR"] ?? "events" });

const report = await importDeliveries(createReadStream(dump), inbox, {
  statuses: ["failed", "exhausted"], // what never got through
  trustUnsigned: true, // a dump of support carries no signatures: this is your word for it
  rejectsFile: `${dump}.rejects.ndjson`,
  checkpointFile: `${dump}.checkpoint.json`, // interrupted, the next run goes on there
  signal: stopping.signal,
});
console.log(JSON.stringify(report.ledger));
if (report.damage) console.error(report.damage.message);

await createWorker(inbox, handlers).run({ signal: stopping.signal });
await inbox.close();
