// Receives two deliveries at the same time under whichever runtime runs it, and prints what is observed of them.
import { AsyncLocalStorage } from "node:async_hooks";
import { tracingChannel } from "node:diagnostics_channel";
import { createReceiver } from "@esim-webhooks/core";
import { type HandleMessage, observe } from "@esim-webhooks/core/observe";
import { newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";

const secret = newSecret();
const handled = new AsyncLocalStorage<string>();
tracingChannel<string, HandleMessage>("esim-webhooks:handle").start.bindStore(handled, ({ id }) => id);
observe({
  receive: ({ id, outcome, durationMs }) => console.log(`receive ${id} ${outcome} ${durationMs > 0}`),
  handle: ({ id, outcome }) => console.log(`handle ${id} ${outcome}`),
  settle: ({ id, outcome }) => console.log(`settle ${id} ${outcome}`),
  verify() {
    throw new Error("an observer's own mistake");
  },
});
const handler = async ({ id }: { id: string }) => {
  await new Promise((resolve) => setTimeout(resolve, 1));
  console.log(`in the handler of ${id}: ${handled.getStore()}`);
};
const receiver = createReceiver({ "*": handler }, { secret });
const event = { type: "esim.faulted", data: sampleData("esim.faulted") } as const;
await Promise.all(["a", "b"].map((id) => receiver.receive(signedRequest({ ...event, id }, { secret }))));
