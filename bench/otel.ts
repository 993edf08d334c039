// npm run bench -- otel: the time of a delivery with @esim-webhooks/otel and OpenTelemetry's SDK, and without.
import { createReceiver, type DedupeStore, type Delivery, type Receiver } from "@esim-webhooks/core";
import { newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { instrument } from "@esim-webhooks/otel";
import { median } from "./measure.ts";
import { barePeer, instrumentOptions } from "./otel-sdk.ts";
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
const deliveries: readonly Delivery[] = Array.from({ length: perRound }, () => {
  const { method, headers, body } = signedRequest(
    { type: "esim.enabled", data: sampleData("esim.enabled") },
    { secret },
  );
  return { method, headers, body: Buffer.from(body) };
});

const receiver = createReceiver({ "*": async () => {} }, { secret, store });
const peer = barePeer();
const receiverWithPeer = createReceiver({ "*": async () => peer() }, { secret, store });

/** Receives all deliveries. Resolves to the nanoseconds per delivery. */
async function receiveAll(by: Receiver = receiver): Promise<number> {
  const start = process.hrtime.bigint();
  for (const delivery of deliveries) await by.receive(delivery);
  return Number(process.hrtime.bigint() - start) / perRound;
}

async function whileInstrumented(options: Parameters<typeof instrument>[0]): Promise<number> {
  const stop = instrument(options);
  return receiveAll().finally(stop);
}

export async function benchOtel(): Promise<void> {
  const sampled = instrumentOptions("always");
  const unsampled = instrumentOptions("never");
  const figures = await inTurns(
    {
      plain: () => receiveAll(),
      sampled: () => whileInstrumented(sampled),
      unsampled: () => whileInstrumented(unsampled),
      noSdk: () => whileInstrumented({}),
      bare: () => receiveAll(receiverWithPeer),
      stopped: () => receiveAll(),
    },
    rounds,
  );
  const plain = median(figures.plain);
  const micro = (nanoseconds: number) => `${(nanoseconds / 1000).toFixed(2)} µs`;
  console.log("\nreceive(), one after the other");
  line("not instrumented", micro(plain));
  for (const [name, each] of [
    ["instrument() was called and stopped", figures.stopped],
    ["instrument() without an SDK", figures.noSdk],
    ["instrument(), the spans are not sampled", figures.unsampled],
    ["instrument(), the spans are sampled", figures.sampled],
    ["the same span and histograms, without our code", figures.bare],
  ] as const)
    line(name, `${micro(median(each))} ${times(median(each) / plain)}`);
}
