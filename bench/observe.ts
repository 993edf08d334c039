// npm run bench -- observe: the time of a delivery, from its request to its reply, with and without observers.
import { AsyncLocalStorage } from "node:async_hooks";
import { tracingChannel } from "node:diagnostics_channel";
import { createReceiver, type DedupeStore, type Delivery } from "@esim-webhooks/core";
import { observe } from "@esim-webhooks/core/observe";
import { newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { median } from "./measure.ts";
import { inTurns, line, times } from "./report.ts";

const secret = newSecret();
const rounds = 41;
const perRound = 5000;

/** A store that forgets everything, so that the same deliveries can be handled again. */
const store: DedupeStore = {
  capabilities: { durable: false, multiProcess: true, transactional: false, retentionMs: 0 },
  claim: async () => ({ status: "claimed", token: "1" }),
  extend: async () => true,
  complete: async () => true,
  release: async () => true,
  close: async () => {},
};
const receiver = createReceiver({ "*": () => {} }, { secret, store });
const deliveries: readonly Delivery[] = Array.from({ length: perRound }, () => {
  const { method, headers, body } = signedRequest(
    { type: "esim.enabled", data: sampleData("esim.enabled") },
    { secret },
  );
  return { method, headers, body: Buffer.from(body) };
});

/** Receives all deliveries. Resolves to the nanoseconds per delivery. */
async function receiveAll(): Promise<number> {
  const start = process.hrtime.bigint();
  for (const delivery of deliveries) await receiver.receive(delivery);
  return Number(process.hrtime.bigint() - start) / perRound;
}

async function whileObserved(): Promise<number> {
  const nothing = () => {};
  const stop = observe({
    receive: nothing,
    verify: nothing,
    process: nothing,
    handle: nothing,
    settle: nothing,
  });
  return receiveAll().finally(stop);
}

async function whileBound(): Promise<number> {
  const { start } = tracingChannel<object, object>("esim-webhooks:handle");
  const context = new AsyncLocalStorage<object>();
  start.bindStore(context);
  return receiveAll().finally(() => start.unbindStore(context));
}

export async function benchObserve(): Promise<void> {
  const figures = await inTurns(
    { unwatched: receiveAll, observed: whileObserved, bound: whileBound },
    rounds,
  );
  const unwatched = median(figures.unwatched);
  const micro = (nanoseconds: number) => `${(nanoseconds / 1000).toFixed(2)} µs`;
  console.log("\nreceive(), one after the other");
  line("not observed", micro(unwatched));
  for (const [name, each] of [
    ["observe(), every step of a delivery", figures.observed],
    ["an AsyncLocalStorage bound to handle", figures.bound],
  ] as const) {
    line(name, micro(median(each)));
    line("  of the time when not observed", times(median(each) / unwatched));
  }
}
