import assert from "node:assert/strict";
import { test } from "node:test";
import { type DataOf, defineCatalog, type Handlers, webhookHandler } from "@esim-webhooks/core";
import { newSecret, signedRequest } from "@esim-webhooks/core/testing";
import * as z from "zod";

const catalog = defineCatalog({
  "port_in.completed": z.looseObject({ portInRequestReference: z.string() }),
  "port_in.failed": z.looseObject({ portInRequestReference: z.string() }), // only what the handler uses
});

const portIns = new Map<string, string>(); // in place of your own table

const handlers: Handlers<DataOf<typeof catalog>> = {
  "port_in.completed": ({ data }) => void portIns.set(data.portInRequestReference, "completed"),
  "port_in.*": ({ type, data }, { logger }) => {
    if (type === "port_in.failed") portIns.set(data.portInRequestReference, "failed");
    else logger.info({ type }, "a step of a port-in whose fields are not known"); // data: unknown fields
  },
};

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
