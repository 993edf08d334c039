// `sending-process.ts <file> <endpoint URL>`: sends with its state in the file, and says on standard output when all was delivered.
import { runningClock } from "../../src/base/clock.ts";
import { openDatabase } from "../../src/base/database.ts";
import type { Service } from "../../src/base/service.ts";
import { testService } from "../service.ts";
import { startSending } from "./sending.ts";

const [file = "", url = ""] = process.argv.slice(2);
const service: Service = { ...testService(), db: openDatabase(file), clock: runningClock(1) };
const isNew = service.db.get("select 1 from endpoints") === undefined;
const sending = startSending(service);
if (isNew) {
  service.db.transaction(() => {
    sending.register(url);
    for (let n = 0; n < 300; n++) sending.emit();
  });
}
await sending.sender.settle();
console.log(
  JSON.stringify(service.db.all("select status, attemptNumber, eventId from deliveries order by sequence")),
);
await sending.sender.close();
service.db.close();
