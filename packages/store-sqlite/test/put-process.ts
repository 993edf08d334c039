// A process for the test of power cuts: `put-process.ts <file> <id>`. Puts one event, says what it was answered, and is killed.
import { writeSync } from "node:fs";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import { entry, fixedTime } from "../../../test/inbox-entry.ts";

const [path = "", id = ""] = process.argv.slice(2);
const inbox = sqliteInbox({ path });
const [result] = await inbox.put([entry(id, fixedTime)]);
writeSync(1, `${result}\n`);
process.kill(process.pid, "SIGKILL");
