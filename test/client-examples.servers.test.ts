import { createClient } from "@esim-webhooks/client";
import { newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { type Sandbox, startSandbox } from "@esim-webhooks/sandbox";
import { Redis } from "ioredis";
import { expect, it, onTestFinished } from "vitest";
import { type Run, runNode } from "./run.ts";
import { redisUrl } from "./servers/shared.ts";

async function sandboxFor(options: Parameters<typeof startSandbox>[0] = {}): Promise<Sandbox> {
  const sandbox = await startSandbox(options);
  onTestFinished(() => sandbox.close());
  return sandbox;
}

function run(file: string, { url, credentials }: Sandbox, more: Record<string, string>): Run {
  const environment = {
    ESIM_API_URL: url,
    ESIM_CLIENT_ID: credentials.clientId,
    ESIM_CLIENT_SECRET: credentials.clientSecret,
    ...more,
  };
  const started = runNode([file], environment);
  onTestFinished(async () => {
    started.child.kill();
    await started.ended;
  });
  return started;
}

it("examples/reorder places one order for an event that comes five times, although its process is killed once", async () => {
  const sandbox = await sandboxFor();
  const api = createClient({ baseUrl: sandbox.url, ...sandbox.credentials });
  const counting = { url: "https://receiver.invalid/", eventTypes: ["esim.assigned"] };
  const { webhookEndpointReference } = await api.webhooks.create(counting);
  const orders = async () => (await api.webhooks.deliveries(webhookEndpointReference).page()).data.length;

  const secret = newSecret();
  const data = { ...sampleData("esim.faulted"), reason: "download_order_expired" };
  const event = {
    id: "msg_expired",
    type: "esim.faulted",
    timestamp: new Date().toISOString(),
    data,
  } as const;
  const request = () => signedRequest(event, { secret });
  const environment = { ESIM_WEBHOOK_SECRET: secret, PORT: "0" };
  const start = async () => {
    const server = run("examples/reorder/server.ts", sandbox, environment);
    const [, url = ""] = await server.line(/^Listening at (\S+)$/);
    return { ...server, url };
  };

  // the order is placed, and the process ends before it is answered
  sandbox.faults.add({ kind: "slow_answer", call: "POST /esims", bytesPerSecond: 1 });
  const first = await start();
  const cut = fetch(first.url, request()).catch(() => "cut");
  await expect.poll(orders).toBe(1);
  first.child.kill("SIGKILL");
  await expect(cut).resolves.toBe("cut");

  const second = await start();
  for (const delivery of [2, 3, 4, 5]) {
    expect([delivery, (await fetch(second.url, request())).status]).toEqual([delivery, 200]);
  }
  await second.line(/^Replaced the eSIM of event msg_expired$/);
  expect(await orders()).toBe(1);
});

it("examples/shared-limit: two processes share a token and a limit in Redis, and no call is refused", async () => {
  const redis = new Redis(redisUrl);
  onTestFinished(() => void redis.disconnect());
  await redis.del("partner-token", "partner-token-lock", "partner-calls");
  const sandbox = await sandboxFor();
  const processes = [1, 2].map(() => run("examples/shared-limit/calls.ts", sandbox, { REDIS_URL: redisUrl }));
  const outputs = await Promise.all(processes.map(async ({ ended }) => (await ended).output));
  expect(outputs).toEqual(["20 calls in 20 attempts\n", "20 calls in 20 attempts\n"]);
  expect(await redis.exists("partner-token")).toBe(1);
});
