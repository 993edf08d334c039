import assert from "node:assert/strict";
import { test } from "node:test";
import { runHandler, sampleData } from "@esim-webhooks/core/testing";
import { handlersFor } from "./handlers.ts";

test("an event before the answer to our own order is tried again in half a minute", async () => {
  const handlers = handlersFor({
    orderOf: async () => undefined,
    orderReplacement: () => assert.fail("there is no order yet"),
  });
  const data = { ...sampleData("esim.faulted"), reason: "download_order_expired" };
  const outcome = await runHandler(handlers, { type: "esim.faulted", data }, { attempt: 2 });
  assert.deepEqual(outcome, { code: "retry_later", retryAfterMs: 30_000 });
});
