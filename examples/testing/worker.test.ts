// node --test
import assert from "node:assert/strict";
import { test } from "node:test";
import { createWorker, type EsimEvents, type Handlers, webhookHandler } from "@esim-webhooks/core";
import { memoryInbox, newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { laneOf } from "./lane.ts";

test("two eSIMs of a profile are worked in the order of their events, in spite of a failure", async () => {
  const secret = newSecret();
  const inbox = memoryInbox({ lane: laneOf });
  const receive = webhookHandler(inbox, { secret });
  for (const [esimReference, timestamp] of [
    ["second", "2026-11-20T12:00:02Z"],
    ["first", "2026-11-20T12:00:01Z"],
  ] as const) {
    const data = { ...sampleData("esim.enabled"), esimReference };
    const request = signedRequest({ type: "esim.enabled", timestamp, data }, { secret });
    const response = await receive(new Request("http://localhost/webhooks", request));
    assert.equal(response.status, 202);
  }

  const worked: string[] = [];
  const stopping = new AbortController();
  const handlers: Handlers<EsimEvents> = {
    "esim.enabled": async ({ data }, { attempt }) => {
      worked.push(`${data.esimReference}, attempt ${attempt}`);
      if (data.esimReference === "first" && attempt === 1) throw new Error("the database is down");
      if (data.esimReference === "second") stopping.abort(); // this handler still finishes
    },
  };
  await createWorker(inbox, handlers, { backoff: () => 0 }).run({ signal: stopping.signal });

  assert.deepEqual(worked, ["first, attempt 1", "first, attempt 2", "second, attempt 1"]);
  assert.equal((await inbox.stats()).states.done, 2);
});
