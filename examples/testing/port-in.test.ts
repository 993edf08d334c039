import assert from "node:assert/strict";
import { test } from "node:test";
import { webhookHandler } from "@esim-webhooks/core";
import { newSecret, signedRequest } from "@esim-webhooks/core/testing";
import { catalog, handlers, portIns } from "./port-in.ts";

test("port-ins are noted by typed handlers, and a type that the catalog does not have goes to its family", async () => {
  const secret = newSecret();
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  const receive = webhookHandler(handlers, { catalog, secret, logger });
  const send = async (type: string, data: Record<string, unknown>) => {
    const request = signedRequest({ type, data }, { secret });
    return (await receive(new Request("http://localhost/webhooks", request))).status;
  };
  assert.equal(await send("port_in.completed", { portInRequestReference: "1" }), 200);
  assert.equal(
    await send("port_in.failed", {
      portInRequestReference: "2",
      reason: { code: "wrong_pin", message: null },
    }),
    200,
  );
  assert.equal(await send("port_in.scheduled", { date: "2026-12-01" }), 200);
  assert.equal(await send("port_in.failed", {}), 500); // it does not fit its schema: the sender tries again
  assert.deepEqual(
    [...portIns],
    [
      ["1", "completed"],
      ["2", "failed"],
    ],
  );
});
