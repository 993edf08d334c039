// npm run demo: the partner service on this machine, a receiver, and everything that the one may do to the other, over real HTTP.
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { createClient } from "@esim-webhooks/client";
import { esimCatalog } from "@esim-webhooks/core";
import { importDeliveries } from "@esim-webhooks/import";
import { startSandbox } from "@esim-webhooks/sandbox";
import { startAccepting } from "./crash.ts";
import { createDemoReceiver, type Result } from "./receiver.ts";
import { type RunStep, report, type Step } from "./report.ts";
import { lifeOfAnEsim, troubles } from "./steps.ts";
import { createStranger } from "./stranger.ts";

const sandbox = await startSandbox({ clock: "manual" });
const api = createClient({ baseUrl: sandbox.url, ...sandbox.credentials });
const receiver = createDemoReceiver();
const url = await receiver.listen();
await sandbox.addEventType("esim.teleported");
const endpoint = await api.webhooks.create({ url, eventTypes: [...esimCatalog.types, "esim.teleported"] });
receiver.receiveWith(endpoint.signingSecret);

const steps: Step[] = [];

/** Does something, waits until its events were sent and answered, and notes what became of them next to the expected outcomes. */
const step: RunStep = async (what, outcomes, act) => {
  const before = { results: receiver.results.length, runs: receiver.runs.length };
  await act();
  await sandbox.settled();
  const results = receiver.results.slice(before.results);
  steps.push({ what, outcomes, results, runs: receiver.runs.length - before.runs });
};

await lifeOfAnEsim(sandbox, step);
await troubles(sandbox, api, receiver, step);

const stranger = createStranger(url, endpoint.signingSecret);
await step("a stranger signs", ["no_matching_key"], stranger.forge);
await step("a stranger changes the body", ["no_matching_key"], stranger.tamper);
await step("a request ten minutes old comes again", ["timestamp_out_of_tolerance"], stranger.replayOld);
await step("another body under a known id", ["conflict"], () => stranger.reuse(receiver.effects[0] ?? ""));

await step("an event without its eSIM", ["invalid"], () => sandbox.emit({ type: "esim.enabled", data: {} }));
receiver.stop();
const missed = await sandbox.orderEsim();
await step("the receiver is down for 16 hours", [], () => sandbox.advance("16h"));
await step("the dump of what it missed is imported", ["imported", "imported"], async () => {
  const { ledger } = await importDeliveries(Readable.from(sandbox.dump()), receiver.handlers, {
    store: receiver.store,
    trustUnsigned: true,
    statuses: ["failed", "exhausted"],
  });
  receiver.results.push(...Array<Result>(ledger.stored).fill({ outcome: "imported" }));
});
await receiver.listen(Number(new URL(url).port));
const duplicates = Array<string>(receiver.effects.length).fill("duplicate");
await step("support sends everything again", [...duplicates, "invalid"], () => sandbox.replay());
const runAgain = duplicates.map(() => "processed");
await step("and under new ids: it runs, without effect", [...runAgain, "invalid"], () =>
  sandbox.replay({ under: "new" }),
);

await sandbox.setEndpointActive(endpoint.webhookEndpointReference, false);
const accepting = await startAccepting();
const inboxEndpoint = await api.webhooks.create({ url: accepting.url, eventTypes: ["esim.faulted"] });
await accepting.receiveWith(inboxEndpoint.signingSecret);
await step("killed after its answer; a worker continues", ["stored", "worked"], async () => {
  await missed.fault("download_failed");
  await sandbox.settled();
  for await (const delivery of api.webhooks.deliveries(inboxEndpoint.webhookEndpointReference)) {
    const { outcome } = JSON.parse(delivery.responseBody ?? "{}") as Result;
    receiver.results.push({ status: delivery.httpStatus ?? undefined, outcome });
  }
  await accepting.crash();
  await accepting.processEvent(receiver.handlers);
  receiver.results.push({ outcome: "worked" });
});

const events = new Map<string, string>();
for await (const line of createInterface({ input: Readable.from(sandbox.dump()) })) {
  const { eventId, payload } = JSON.parse(line) as { eventId: string; payload: unknown };
  events.set(eventId, JSON.stringify(payload));
}
await sandbox.close();
receiver.stop();
const { runs, effects, repeats } = receiver;
process.exitCode = report(steps, { events, invalid: 1, runs, effects, repeats }) ? 0 : 1;
