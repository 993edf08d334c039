// A process for the test of power cuts: `duplicate-process.ts <file> <id>`. It has the file open while another process puts an event
// and is killed, then puts the same event, and says what it was answered.
import { spawnSync } from "node:child_process";
import { writeSync } from "node:fs";
import { join } from "node:path";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import { entry, fixedTime } from "../../../test/inbox-entry.ts";

const [path = "", id = ""] = process.argv.slice(2);
const inbox = sqliteInbox({ path });
await inbox.put([entry("msg_before")]);
const other = [...process.execArgv, join(import.meta.dirname, "put-process.ts"), path, id];
spawnSync(process.execPath, other, { stdio: "inherit" });
const [result] = await inbox.put([entry(id, fixedTime)]);
writeSync(1, `${result}\n`);
await inbox.close();
