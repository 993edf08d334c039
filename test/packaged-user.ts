// A program for the tests of package managers: it is copied to where one of them has installed the packed packages. It uses what depends on
// the file system that the manager gives it: files and folders that are synced, a thread, and files of the packages.
import { createReadStream, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { createWorker, nodeHandler } from "@esim-webhooks/core";
import { fileKeySource } from "@esim-webhooks/core/key-file";
import { fileState } from "@esim-webhooks/core/state";
import { newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { inboxDashboard } from "@esim-webhooks/dashboard";
import { importDeliveries } from "@esim-webhooks/import";
import { sqliteBackup, sqliteInbox, sqliteStore } from "@esim-webhooks/store-sqlite";

const type = "esim.enabled";
const [oldSecret, secret] = [newSecret(), newSecret()];
const keys = fileKeySource("keys.json");
const isCreated = await keys.write({ keys: [oldSecret] }, undefined);
const version = (await keys.read())?.version;
console.log("keys", isCreated, await keys.write({ keys: [oldSecret, secret] }, version));

const state = fileState("state");
await state.write("watermark", 1, undefined);
await state.write("watermark", 2, (await state.read("watermark"))?.version);
console.log("state", (await state.read("watermark"))?.value);

async function deliver(receiver: RequestListener): Promise<void> {
  const server = createServer(receiver);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const response = await fetch(
    `http://127.0.0.1:${port}/webhooks`,
    signedRequest({ type, data: sampleData(type) }, { secret }),
  );
  console.log("delivered", response.status, await response.text());
  server.closeAllConnections();
  server.close();
}

const store = sqliteStore({ path: "store.db" });
await deliver(nodeHandler({ [type]: () => {} }, { secret: keys, store }));
await store.close();

const inbox = sqliteInbox({ path: "inbox.db" });
await deliver(nodeHandler(inbox, { secret: keys }));
const stopping = new AbortController();
const worker = createWorker(inbox, {
  "*": (event) => {
    console.log("worked", event.type);
    stopping.abort();
  },
});
await worker.run({ signal: stopping.signal });

const payload = { type, timestamp: "2026-11-20T09:30:00.000Z", data: sampleData(type) };
const record = { eventType: type, eventId: "msg_1", payload, status: "exhausted" };
writeFileSync("dump.ndjson", `${JSON.stringify(record)}\nno JSON\n`);
const { ledger } = await importDeliveries(createReadStream("dump.ndjson"), inbox, {
  checkpointFile: "checkpoint.json",
  rejectsFile: "rejects.ndjson",
  trustUnsigned: true,
});
console.log("imported", ledger.stored, "of", ledger.read);
await sqliteBackup({ path: "inbox.db" }, "backup.db");

const dashboard = inboxDashboard(inbox, { authorize: () => ({ role: "viewer", name: "vera" }) });
const asset = await dashboard(new Request("http://localhost/inbox/assets/dashboard.css"));
console.log("asset", asset.status);
await inbox.close();
