// A process for the tests of kills and power cuts: `fire-process.ts <file> <name> <concurrent puts> <body bytes> <most puts>`.
// It puts events named after it, says of each that was acknowledged, and works what it can take: one effect an event.
// It ends after its last put, or on SIGTERM.
import { writeSync } from "node:fs";
import { createWorker } from "@esim-webhooks/core";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import { entry } from "../../../test/inbox-entry.ts";

const [path = "", name = "", atOnce = "", bodyBytes = "", mostPuts = ""] = process.argv.slice(2);
const inbox = sqliteInbox({ path, timeoutMs: 60_000 });
await inbox.ready();

const stopping = new AbortController();
process.once("SIGTERM", () => stopping.abort());
const working = createWorker(
  inbox,
  {
    "*": ({ id }, { tx }) =>
      tx.write({ sql: "insert into orders (event) values (?)", parameters: [id] }, { changes: 1 }),
  },
  { leaseMs: 3000, backoff: () => 1 },
).run({ signal: stopping.signal });

let puts = 0;
async function putOn(): Promise<void> {
  while (puts < Number(mostPuts) && !stopping.signal.aborted) {
    puts += 1;
    const id = `${name}_${puts}`;
    const given = entry(id);
    const padding = `{"padding":"${"x".repeat(Number(bodyBytes))}",${Buffer.from(given.body).toString().slice(1)}`;
    await inbox.put([{ ...given, body: Buffer.from(padding) }]);
    writeSync(1, `acknowledged ${id}\n`); // without a buffer: the next moment may be the last
  }
}
await Promise.all(Array.from({ length: Number(atOnce) }, putOn));
stopping.abort();
await working;
await inbox.close();
