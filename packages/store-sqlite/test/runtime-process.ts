// A process for the test of other runtimes: `runtime-process.ts <file>`. Puts and works an event, and gets the error of a mistake.
import { createWorker } from "@esim-webhooks/core";
import { sqliteInbox, sqliteState } from "@esim-webhooks/store-sqlite";
import { entry } from "../../../test/inbox-entry.ts";

const [path = ""] = process.argv.slice(2);
const inbox = sqliteInbox({ path });
console.log("put", ...(await inbox.put([entry("msg_1")])));
const stopping = new AbortController();
await createWorker(inbox, {
  "*": async ({ id }, { tx }) => {
    const [row] = await tx.read<{ n: number }>("select count(*) as n from esim_webhooks_event where id = ?", [
      id,
    ]);
    tx.write({ sql: "delete from esim_webhooks_latest where subject = ?", parameters: [id] }, { changes: 0 });
    console.log("worked", id, row?.n);
    stopping.abort();
  },
}).run({ signal: stopping.signal });
console.log("state", (await inbox.get(entry("msg_1")))?.state);
await inbox.close();

const mistaken = sqliteState({ path: import.meta.filename });
await mistaken.ready().catch(({ code }: { code: string }) => console.log("refused", code));
await mistaken.close();
