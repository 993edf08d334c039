// A process for tests: makes one pass, or runs a reconciler, at the API of BASE_URL, into the file DATABASE: into its inbox, or
// with EFFECTS into handlers that write the ids into its table effects. Says "begun" when it begins, and "pass" with the report
// after each pass. Its lease is LEASE_MS, or 300 ms. With KILL_AT, it kills itself in the middle: once so many events are stored,
// or before that effect is written.
import { createClient } from "@esim-webhooks/client";
import { createProcessor, type InboxWriter } from "@esim-webhooks/core";
import { createReconciler, observeReconciliations, reconcile } from "@esim-webhooks/endpoint";
import { sqliteInbox, sqliteState, sqliteStore } from "@esim-webhooks/store-sqlite";

const environment = process.env;
const given = (name: string) => environment[name] ?? "";
const path = given("DATABASE");
const api = createClient({
  baseUrl: given("BASE_URL"),
  clientId: given("CLIENT_ID"),
  clientSecret: given("CLIENT_SECRET"),
});
const leaseMs = Number(environment["LEASE_MS"] ?? 300);
const file = { path, timeoutMs: 60_000 }; // a busy machine is no fault of the store
const inbox = sqliteInbox(file);
const store = sqliteStore(file);
const state = sqliteState(file);

let left = Number(environment["KILL_AT"] ?? Number.POSITIVE_INFINITY);
function count(events: number): void {
  left -= events;
  if (left <= 0) process.kill(process.pid, "SIGKILL");
}

const put: InboxWriter["put"] = async (entries) => {
  const results = await inbox.put(entries);
  count(results.filter((result) => result === "stored").length);
  return results;
};
const effects = createProcessor(
  {
    "*": (event, { tx }) => {
      tx.write({ sql: "INSERT INTO effects (id) VALUES (?)", parameters: [event.id] });
      count(1);
    },
  },
  { store, leaseMs },
);
const target = given("EFFECTS") === "" ? { ...inbox, put } : effects;

const options = { state, since: new Date(given("SINCE")), leaseMs };
console.log("begun");
if (given("EVERY_MS") === "") {
  const report = await reconcile(api, given("ENDPOINT"), target, options);
  console.log(`pass ${JSON.stringify(report)}`);
} else {
  observeReconciliations((message) => {
    if (message.outcome === "complete") console.log(`pass ${JSON.stringify(message)}`);
  });
  await createReconciler(api, given("ENDPOINT"), target, {
    ...options,
    everyMs: Number(given("EVERY_MS")),
  }).run();
}
await state.close();
await store.close();
await inbox.close();
