// npm run demo: the partner service on this machine, a receiver, and everything that the one may do to the other, over real HTTP.
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { createClient } from "@esim-webhooks/client";
import { esimCatalog } from "@esim-webhooks/core";
import { importDeliveries } from "@esim-webhooks/import";
import { startSandbox } from "@esim-webhooks/sandbox";
import { startAccepting } from "./crash.ts";
import { createDemoReceiver } from "./receiver.ts";
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

/** Does something, waits until its events were sent and answered, and notes the answers beside the expected outcomes. */
const step: RunStep = async (what, outcomes, act) => {
  const before = { answers: receiver.answers.length, runs: receiver.runs.length };
  await act();
  await sandbox.settled();
  const answers = receiver.answers.slice(before.answers);
  steps.push({ what, outcomes, answers, runs: receiver.runs.length - before.runs });
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
await step("the receiver is away for 16 hours", [], () => sandbox.advance("16h"));
const { ledger: imported } = await importDeliveries(Readable.from(sandbox.dump()), receiver.handlers, {
  store: receiver.store,
  trustUnsigned: true,
  statuses: ["failed", "exhausted"],
});
await receiver.listen(Number(new URL(url).port));
const duplicates = Array<string>(receiver.effects.length).fill("duplicate");
await step("support sends everything again", [...duplicates, "invalid"], () => sandbox.replay());

await sandbox.setEndpointActive(endpoint.webhookEndpointReference, false);
const accepting = await startAccepting();
const { signingSecret } = await api.webhooks.create({ url: accepting.url, eventTypes: ["esim.faulted"] });
await accepting.receiveWith(signingSecret);
await missed.fault("download_failed");
await sandbox.settled();
await accepting.crash();
await accepting.processEvent(receiver.handlers);

const events = new Set<string>();
for await (const line of createInterface({ input: Readable.from(sandbox.dump()) })) {
  events.add((JSON.parse(line) as { eventId: string }).eventId);
}
await sandbox.close();
receiver.stop();
const { runs, effects } = receiver;
const counts = { events, invalid: 1, runs, effects, otherwise: imported.stored + 1 };
process.exitCode = report(steps, counts) ? 0 : 1;
