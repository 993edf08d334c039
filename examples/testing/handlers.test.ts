// node --test
import assert from "node:assert/strict";
import { test } from "node:test";
import { webhookHandler } from "@esim-webhooks/core";
import { newSecret, type SignedRequest, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { handlersFor } from "./handlers.ts";

const secret = newSecret();

/** A receiver with a shop that knows the eSIM of the sample data. */
function start() {
  const replaced = new Map<string, string>();
  const handlers = handlersFor({
    orderOf: async (esim) => (esim === sampleData("esim.faulted").esimReference ? "order-1" : undefined),
    orderReplacement: async (order, key) => void replaced.set(key, order),
  });
  const receive = webhookHandler(handlers, { secret });
  const deliver = async (request: SignedRequest) => {
    const response = await receive(new Request("http://localhost/webhooks", request));
    return { status: response.status, ...((await response.json()) as { outcome?: string; code?: string }) };
  };
  return { replaced, deliver };
}

function faulted(changes = {}, id = "msg_1"): SignedRequest {
  const data = { ...sampleData("esim.faulted"), ...changes };
  const event = { id, type: "esim.faulted", timestamp: "2026-11-20T12:00:00Z", data } as const;
  return signedRequest(event, { secret });
}

test("a dead download order is replaced once, even if the event is delivered many times, and under another id", async () => {
  const { replaced, deliver } = start();
  const request = faulted({ reason: "download_order_expired" });
  assert.deepEqual(await deliver(request), { status: 200, outcome: "processed" });
  assert.deepEqual(await deliver(request), { status: 200, outcome: "duplicate" });
  const replayed = faulted({ reason: "download_order_expired" }, "msg_2"); // as from another endpoint, too
  assert.deepEqual(await deliver(replayed), { status: 200, outcome: "processed" });
  assert.deepEqual([...replaced.values()], ["order-1"]);
});

for (const reason of ["user_rejected", "install_failed", "a reason that comes next year"]) {
  test(`nothing is ordered after ${reason}`, async () => {
    const { replaced, deliver } = start();
    assert.deepEqual(await deliver(faulted({ reason })), { status: 200, outcome: "discarded" });
    assert.deepEqual([...replaced.values()], []);
  });
}

test("an event that comes before our own order is stored is asked for again", async () => {
  const { status, code } = await start().deliver(faulted({ esimReference: "not stored yet" }));
  assert.deepEqual({ status, code }, { status: 503, code: "retry_later" });
});
