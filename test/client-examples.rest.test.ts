import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@esim-webhooks/client";
import { newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { type Sandbox, startSandbox } from "@esim-webhooks/sandbox";
import { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { Run } from "./run.ts";
import { startRedis, type TestServer } from "./servers/index.ts";
import { runInTest } from "./support/run-in-test.ts";

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
  return runInTest([file], environment);
}

it("examples/reorder places one order for an event that comes under five ids, although its process is killed once", async () => {
  // the test asks for the orders all the time, with the client that places one: within the limit both would wait for each other
  const sandbox = await sandboxFor({ switches: { rateLimit: "off" } });
  const api = createClient({ baseUrl: sandbox.url, ...sandbox.credentials });
  const counting = { url: "http://127.0.0.1:9/", eventTypes: ["esim.assigned"] };
  const { webhookEndpointReference } = await api.webhooks.create(counting);
  const orders = async () => (await api.webhooks.deliveries(webhookEndpointReference).page()).data.length;

  const secret = newSecret();
  const data = { ...sampleData("esim.faulted"), reason: "download_order_expired" };
  const event = {
    type: "esim.faulted",
    timestamp: new Date().toISOString(),
    data,
  } as const;
  const request = (delivery: number) => signedRequest({ id: `msg_${delivery}`, ...event }, { secret });
  const folder = await mkdtemp(join(tmpdir(), "esim-webhooks-example-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const environment = { ESIM_WEBHOOK_SECRET: secret, PORT: "0", DATABASE: join(folder, "orders.db") };
  const start = async () => {
    const server = run("examples/reorder/server.ts", sandbox, environment);
    const [, url = ""] = await server.line(/^Listening at (\S+)$/);
    return { ...server, url };
  };

  // the order is placed, and the process ends before it is answered
  sandbox.faults.add({ kind: "slow_answer", call: "POST /esims", bytesPerSecond: 1 });
  const first = await start();
  const cut = fetch(first.url, request(1)).catch(() => "cut");
  await expect.poll(orders).toBe(1);
  first.child.kill("SIGKILL");
  await expect(cut).resolves.toBe("cut");

  const second = await start();
  for (const delivery of [2, 3, 4, 5]) {
    expect([delivery, (await fetch(second.url, request(delivery))).status]).toEqual([delivery, 200]);
  }
  await second.line(/^Replaced the eSIM of event msg_2$/);
  expect(await orders()).toBe(1);
});

it("examples/reconcile works what the service has given up, beside its worker, and stops at SIGTERM", async () => {
  const sandbox = await sandboxFor({ clock: "manual" });
  const api = createClient({ baseUrl: sandbox.url, ...sandbox.credentials });
  const nobody = { url: "http://127.0.0.1:9/webhooks", eventTypes: ["esim.installed"] };
  const { webhookEndpointReference } = await api.webhooks.create(nobody);
  const STORING_SINCE = new Date(Date.now() - 60_000).toISOString();
  const [id = ""] = await sandbox.emit({ type: "esim.installed", data: { ...sampleData("esim.installed") } });
  await sandbox.advance("16h"); // ten attempts

  const DATA_DIR = await mkdtemp(join(tmpdir(), "esim-webhooks-example-"));
  onTestFinished(() => rm(DATA_DIR, { recursive: true }));
  const environment = { DATA_DIR, ESIM_ENDPOINT: webhookEndpointReference, STORING_SINCE };
  const worker = run("examples/reconcile/worker.ts", sandbox, environment);
  await worker.line(new RegExp(`^handled esim.installed ${id} from the listing$`));
  worker.child.kill("SIGTERM");
  expect((await worker.ended).code).toBe(0);
});

describe("examples/shared-limit", () => {
  let server: TestServer;
  let redis: Redis;
  beforeEach(async () => {
    server = await startRedis();
    redis = new Redis(server.url);
    redis.on("error", () => {}); // a test takes Redis away
  });
  afterEach(async () => {
    redis.disconnect();
    await server.close();
  });

  const start = (sandbox: Sandbox): Run =>
    run("examples/shared-limit/calls.ts", sandbox, { REDIS_URL: server.url });
  /** How often Redis was given this command. */
  const given = async (command: string): Promise<number> => {
    const [, calls = 0] =
      new RegExp(`^cmdstat_${command}:calls=(\\d+)`, "m").exec(await redis.info("commandstats")) ?? [];
    return Number(calls);
  };

  it("two processes share a token and a limit in Redis, and no call is refused", async () => {
    const sandbox = await sandboxFor();
    const processes = [1, 2].map(() => start(sandbox));
    const outputs = await Promise.all(processes.map(async ({ ended }) => (await ended).output));
    expect(outputs).toEqual(["20 calls in 20 attempts\n", "20 calls in 20 attempts\n"]);
    expect(await redis.exists("partner-token")).toBe(1);
  });

  it("a process waits for the one that asks for the token, and asks itself five seconds after that one was killed", async () => {
    const sandbox = await sandboxFor();
    sandbox.faults.add({ kind: "hang", call: "POST /auth/token" });
    const killed = start(sandbox);
    await expect.poll(() => redis.exists("partner-token-lock")).toBe(1);
    const leftMs = await redis.pttl("partner-token-lock");
    expect(leftMs).toBeGreaterThan(0);
    expect(leftMs).toBeLessThanOrEqual(5000);
    await redis.persist("partner-token-lock"); // the five seconds end when the test says so
    const waiting = start(sandbox);
    await expect.poll(() => given("set")).toBeGreaterThan(2);
    expect(await redis.exists("partner-token")).toBe(0);
    killed.child.kill("SIGKILL");
    await redis.del("partner-token-lock");
    expect((await waiting.ended).output).toBe("20 calls in 20 attempts\n");
  });

  it("a process whose Redis goes away counts alone, and no call is refused", async () => {
    const sandbox = await sandboxFor();
    const places = Array.from({ length: 10 }, (_, n) => [Number.MAX_SAFE_INTEGER, `taken ${n}`]);
    await redis.zadd("partner-calls", ...places.flat());
    const { ended } = start(sandbox);
    await expect.poll(() => given("eval")).toBeGreaterThan(0); // it has a token, and waits for a place
    await server.kill();
    const { code, output } = await ended;
    expect(output).toMatch(/^20 calls in 20 attempts$/m);
    expect(output).toMatch(/^Redis: connect ECONNREFUSED/m);
    expect(code).toBe(0);
  });
});
