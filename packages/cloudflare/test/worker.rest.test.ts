import { join } from "node:path";
import { newSecret, type SignedRequest, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { root } from "../../../test/run.ts";
import { signedDelivery } from "../../../test/support/signed-delivery.ts";
import { type RunningWorker, runWorker } from "./miniflare.ts";

const secret = newSecret();
const bindings = { ESIM_WEBHOOK_SECRET: secret };

async function run(file: string, ...options: [{ maxRetries: number }] | []): Promise<RunningWorker> {
  const worker = await runWorker(join(root, file), bindings, ...options);
  onTestFinished(() => worker.close());
  return worker;
}

function faulted(data: Record<string, unknown> = {}, signedWith = secret): SignedRequest {
  return signedDelivery(signedWith, { data });
}

async function deliver(
  { url }: RunningWorker,
  request: SignedRequest,
  path = "/webhooks",
): Promise<unknown[]> {
  const response = await fetch(new URL(path, url), request);
  const { outcome, code } = (await response.json()) as { outcome?: string; code?: string };
  return [response.status, outcome ?? code];
}

describe("examples/cloudflare/worker.ts on miniflare", () => {
  it("handles a signed delivery once, with its done id in a Durable Object, and refuses a forged one", async () => {
    const worker = await run("examples/cloudflare/worker.ts");
    const request = faulted({ reason: "download_order_expired" });
    expect(await deliver(worker, request)).toEqual([200, "processed"]);
    expect(await worker.line(/^faulted/)).toBe("faulted: download_order_expired");
    expect(await deliver(worker, request)).toEqual([200, "duplicate"]);
    expect(await deliver(worker, faulted({}, newSecret()))).toEqual([401, "no_matching_key"]);
  });
});

describe("webhookHandler with durableObjectStore on miniflare", () => {
  const late = "packages/cloudflare/test/late-worker.ts";

  it("marks an event done although its handler ended after the answer, so that the sender's retry does not run it again", async () => {
    const worker = await run(late);
    const request = faulted();
    expect(await deliver(worker, request, "/late")).toEqual([503, "deadline_reached"]);
    await expect.poll(() => deliver(worker, request, "/late")).toEqual([200, "duplicate"]);
    await worker.line(/^handled/);
  });

  it("still reads long bodies after a forged one, with whose request its timers ended", async () => {
    const worker = await run(late);
    const long = { note: "x".repeat(200_000) };
    for (const _ of [1, 2, 3]) {
      expect(await deliver(worker, faulted(long, newSecret()))).toEqual([401, "no_matching_key"]);
    }
    expect(await deliver(worker, faulted(long))).toEqual([200, "processed"]);
  });
});

describe("webhookHandler on miniflare, made where the module is loaded", () => {
  it.each([
    ["a key source", "/keys"],
    ["endpoints", "/endpoints"],
  ])(
    "asks %s for newer keys as often as a forged delivery makes it, in whichever request",
    async (_, path) => {
      const worker = await run("packages/cloudflare/test/sources-worker.ts");
      for (const _ of [1, 2]) {
        expect(await deliver(worker, faulted({}, newSecret()), path)).toEqual([401, "no_matching_key"]);
        expect(await deliver(worker, faulted(), path)).toEqual([200, "processed"]);
      }
    },
  );
});

describe("examples/cloudflare/queue.ts on miniflare", () => {
  it("answers 202 and handles each event once from the Queue, retries and redeliveries included, under one key for all ids", async () => {
    const worker = await run("examples/cloudflare/queue.ts");
    const expired = { ...sampleData("esim.faulted"), esimReference: "größer 📶" };
    const event = { type: "esim.faulted", timestamp: "2026-11-20T12:00:00Z", data: expired } as const;
    const request = signedRequest({ id: "msg_1", ...event }, { secret });
    for (const _ of [1, 2]) expect(await deliver(worker, request)).toEqual([202, "stored"]);
    expect(await deliver(worker, faulted({}, newSecret()))).toEqual([401, "no_matching_key"]);
    const order = await worker.line(/^reordering/);
    expect(order).toMatch(/^reordering größer 📶, key [0-9a-f]{64}$/);
    expect(await deliver(worker, signedRequest({ id: "msg_2", ...event }, { secret }))).toEqual([
      202,
      "stored",
    ]);
    expect(await worker.line(/^reordering/)).toBe(order);
    const other = faulted({ reason: "download_order_expired", esimReference: "other" });
    expect(await deliver(worker, other)).toEqual([202, "stored"]);
    // the next one is of the other event, so the redelivery of the first has not run
    expect(await worker.line(/^reordering/)).toMatch(/^reordering other, key /);
  });

  it("makes an event that does not fit its schema a dead letter, with its body", async () => {
    const worker = await run("examples/cloudflare/queue.ts", { maxRetries: 2 });
    const invalid = faulted({ reason: undefined });
    expect(await deliver(worker, invalid)).toEqual([202, "stored"]);
    expect(await worker.line(/^dead letter/)).toBe(`dead letter: ${invalid.headers["webhook-id"]}`);
  });
});
