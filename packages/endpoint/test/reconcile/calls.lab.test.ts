import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createClient, createLimiter } from "@esim-webhooks/client";
import type { InboxWriter } from "@esim-webhooks/core";
import { sampleData } from "@esim-webhooks/core/testing";
import { startSandbox } from "@esim-webhooks/sandbox";
import { expect, it, onTestFinished } from "vitest";
import { memoryState } from "./memory-state.ts";
import { onePass } from "./one-pass.ts";

const minuteMs = 60_000;

it("makes at most 21 calls per pass on average, one of them about the endpoint itself, at 100,000 deliveries a day, while an event is coming for 17 hours", async () => {
  const sandbox = await startSandbox({ clock: "manual" });
  let failing: string | undefined;
  const receiver = createServer((request, response) => {
    const id = String(request.headers["webhook-id"]);
    failing ??= id;
    request.resume().once("end", () => response.writeHead(id === failing ? 503 : 202).end());
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    await sandbox.close();
    receiver.closeAllConnections();
    await new Promise((resolve) => receiver.close(resolve));
  });
  let calls = 0;
  const api = createClient({
    baseUrl: sandbox.url,
    ...sandbox.credentials,
    limiter: createLimiter({ calls: 1_000_000 }),
    // a tenth of the deliveries on pages a tenth as long: as many calls
    fetch: (url, init) => {
      calls += 1;
      return fetch(url.replace("limit=100", "limit=10"), init);
    },
  });
  const { webhookEndpointReference: endpoint } = await api.webhooks.create({
    url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/webhooks`,
    eventTypes: ["esim.enabled"],
  });
  const stored: string[] = [];
  const inbox: Pick<InboxWriter, "put" | "capabilities"> = {
    capabilities: { durable: true } as InboxWriter["capabilities"],
    put: async (entries) =>
      entries.map(({ id }) => {
        if (id !== failing) return "already_stored";
        stored.push(id);
        return "stored";
      }),
  };
  const startMs = Date.now();
  let minutes = 0;
  const clock = { now: () => startMs + minutes * minuteMs };
  const options = { state: memoryState(), since: new Date(startMs - minuteMs), clock };
  const callsOfPasses: number[] = [];
  let emitted = 0;
  while (minutes < 17 * 60) {
    await sandbox.advance(minuteMs);
    minutes += 1;
    for (; emitted < (minutes / (24 * 60)) * 10_000; emitted++) {
      await sandbox.emit({ type: "esim.enabled", data: sampleData("esim.enabled") });
    }
    await sandbox.settled();
    if (minutes % 5 !== 0) continue;
    const before = calls;
    await onePass(api, endpoint, inbox, options);
    callsOfPasses.push(calls - before);
  }
  expect(stored).toEqual([failing]);
  expect(callsOfPasses).toHaveLength(17 * 12);
  expect(callsOfPasses.reduce((sum, count) => sum + count) / callsOfPasses.length).toBeLessThanOrEqual(21);
});
