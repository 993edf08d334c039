// A process for tests: makes one pass, or runs a reconciler, at the API of BASE_URL, into the inbox in the file PATH. Says
// "pass" with the report after each pass, and "begun" when it begins.
import { createClient } from "@esim-webhooks/client";
import { createReconciler, observeReconciliations, reconcile } from "@esim-webhooks/endpoint";
import { sqliteInbox, sqliteState } from "@esim-webhooks/store-sqlite";

const environment = process.env;
const given = (name: string) => environment[name] ?? "";
const path = given("DATABASE");
const api = createClient({
  baseUrl: given("BASE_URL"),
  clientId: given("CLIENT_ID"),
  clientSecret: given("CLIENT_SECRET"),
});
const inbox = sqliteInbox({ path });
const state = sqliteState({ path });
const options = { state, since: new Date(given("SINCE")), leaseMs: 300 };
console.log("begun");
if (given("EVERY_MS") === "") {
  const report = await reconcile(api, given("ENDPOINT"), inbox, options);
  console.log(`pass ${JSON.stringify(report)}`);
} else {
  observeReconciliations((message) => {
    if (message.outcome === "complete") console.log(`pass ${JSON.stringify(message)}`);
  });
  await createReconciler(api, given("ENDPOINT"), inbox, {
    ...options,
    everyMs: Number(given("EVERY_MS")),
  }).run();
}
await state.close();
await inbox.close();
