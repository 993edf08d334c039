import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createClient } from "@esim-webhooks/client";
import { startSandbox } from "@esim-webhooks/sandbox";
import { startBackend } from "./backend.ts";

/** A service of its own for each test. Its clock stands still, so that hours take no time. */
async function start(context: TestContext, switches: { idPer?: "delivery" | "event" } = {}) {
  const sandbox = await startSandbox({ clock: "manual", switches });
  context.after(() => sandbox.close());
  const api = createClient({ baseUrl: sandbox.url, ...sandbox.credentials });
  const backend = await startBackend(api);
  context.after(backend.stop);
  return { sandbox, backend };
}

test("an eSIM is ordered, and a customer uses it", async (context) => {
  const { sandbox, backend } = await start(context);
  const esimReference = await backend.order("ada");
  const esim = await sandbox.esim(esimReference);
  await esim.enable(); // downloaded and installed first
  await sandbox.advance("1m"); // an event that was too early comes again after 30 s
  assert.deepEqual(backend.orders.get(esimReference), { customer: "ada", state: "in use" });
});

test("an order whose answer is lost is made once", async (context) => {
  const { sandbox, backend } = await start(context);
  sandbox.faults.dropNextAnswer("POST /esims");
  const esimReference = await backend.order("ada"); // the client asks again, with the same idempotency key
  await sandbox.advance("1m");
  assert.deepEqual([...backend.orders], [[esimReference, { customer: "ada", state: "ready" }]]);
});

test("a dead download order is replaced once, though its event comes again and again", async (context) => {
  const { sandbox, backend } = await start(context);
  const esim = await sandbox.esim(await backend.order("ada"));
  sandbox.faults.add({ kind: "duplicate", eventType: "esim.faulted" });
  await esim.fault("download_order_expired");
  await sandbox.advance("1m");
  await sandbox.replay();
  await sandbox.advance("1m");
  const states = Array.from(backend.orders.values(), ({ state }) => state);
  assert.deepEqual(states, ["replaced", "ready"]);
});

for (const idPer of ["delivery", "event"] as const) {
  test(`a replay under new ids replaces nothing again, with an id per ${idPer}`, async (context) => {
    const { sandbox, backend } = await start(context, { idPer });
    const esim = await sandbox.esim(await backend.order("ada"));
    await esim.fault("download_order_expired");
    await sandbox.advance("1m");
    await sandbox.replay({ under: "new" });
    await sandbox.advance("5d"); // the service has forgotten the key of the replacement
    await sandbox.replay({ under: "new" });
    await sandbox.advance("1m");
    const states = Array.from(backend.orders.values(), ({ state }) => state);
    assert.deepEqual(states, ["replaced", "ready"]);
  });
}

test("nothing is lost while the endpoint does not answer for hours", async (context) => {
  const { sandbox, backend } = await start(context);
  sandbox.faults.add({ kind: "cut", times: 8 }); // the first eight attempts of the next event are cut in the middle of the body
  const esimReference = await backend.order("ada");
  await sandbox.advance("3h");
  assert.equal(backend.orders.get(esimReference)?.state, "ordered");
  await sandbox.advance("8h");
  assert.equal(backend.orders.get(esimReference)?.state, "ready");
});
