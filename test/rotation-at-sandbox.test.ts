import { Readable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { createClient } from "@esim-webhooks/client";
import { type LoadedKeys, type Logger, memoryStore, nodeHandler } from "@esim-webhooks/core";
import { silentLogger } from "@esim-webhooks/core/kit";
import { newSecret, sampleData } from "@esim-webhooks/core/testing";
import { type Sandbox, startSandbox } from "@esim-webhooks/sandbox";
import { expect, it, onTestFinished } from "vitest";
import { listen } from "./listen.ts";

const rotate = "POST /management/webhooks/{webhookEndpointReference}/rotate-secret";

it("loses nothing and handles nothing twice through three calls of rotate-secret under load, one of whose answers is lost", async () => {
  const sandbox = await startSandbox({ speed: 1000 });
  onTestFinished(() => sandbox.close());
  const api = createClient({ baseUrl: sandbox.url, ...sandbox.credentials });

  const shared = { now: { keys: [newSecret()] } as LoadedKeys };
  let heldOff = Promise.withResolvers<void>();
  const logger: Logger = {
    ...silentLogger,
    warn: ({ outcome }) => {
      if (outcome === "rotating") heldOff.resolve();
    },
  };
  const handled: string[] = [];
  const receiver = nodeHandler(
    { "*": ({ id }) => void handled.push(id) },
    { secret: { load: async () => shared.now }, store: memoryStore(), logger },
  );
  const server = await listen(receiver, "/webhooks", receiver.close);
  onTestFinished(() => server.close());
  const { signingSecret, webhookEndpointReference } = await api.webhooks.create({
    url: server.url,
    eventTypes: ["esim.enabled"],
  });
  let secret = signingSecret;
  shared.now = { keys: [secret] };

  const emitted: string[] = [];
  const rotated = new AbortController();
  const load = (async () => {
    while (!rotated.signal.aborted) {
      emitted.push(...(await sandbox.emit({ type: "esim.enabled", data: sampleData("esim.enabled") })));
      await pause(4);
    }
  })();

  for (let rotation = 1; rotation <= 3; rotation++) {
    // docs/rotation.md: say that a rotation begins, rotate at the API, then hand the new secret to the receiver
    shared.now = { keys: [secret], rotatingUntil: new Date(Date.now() + 600_000) };
    heldOff = Promise.withResolvers();
    await pause(20);
    if (rotation === 2) sandbox.faults.dropNextAnswer(rotate);
    const old = secret;
    secret = (await api.webhooks.rotateSecret(webhookEndpointReference)).signingSecret;
    await heldOff.promise; // a delivery has come before its key
    shared.now = { keys: [{ secret: old, notAfter: new Date(Date.now() + 60_000) }, secret] };
    await pause(500);
  }
  rotated.abort();
  await load;

  const deliveries = () => deliveriesOf(sandbox);
  await expect
    .poll(async () => (await deliveries()).filter(({ status }) => status !== "delivered"))
    .toEqual([]);
  expect((await deliveries()).filter(({ attemptNumber }) => attemptNumber > 1).length).toBeGreaterThan(2);
  expect(emitted.length).toBeGreaterThan(30);
  expect(handled.toSorted()).toEqual(emitted.toSorted());
});

async function deliveriesOf(sandbox: Sandbox): Promise<{ status: string; attemptNumber: number }[]> {
  const dump = Buffer.concat(await Readable.from(sandbox.dump()).toArray());
  return dump
    .toString()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}
