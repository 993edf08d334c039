import { encodeEntry } from "@esim-webhooks/core/engine";
import { type HandleMessage, observe } from "@esim-webhooks/core/observe";
import { bullmqProcessor } from "@esim-webhooks/queue-bullmq";
import { expect, it, onTestFinished } from "vitest";
import { entry } from "../../../test/inbox-entry.ts";

it("gives the trace that an event was stored with to observers of its handler, also when it is retried", async () => {
  const seen: HandleMessage[] = [];
  onTestFinished(observe({ handle: (message) => void seen.push(message) }));
  const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const job = {
    data: encodeEntry({ ...entry("msg_1", { type: "esim.faulted" }), trace }),
    progress: 0,
    timestamp: Date.now(),
    attemptsStarted: 2,
    attemptsMade: 1,
    stalledCounter: 0,
    processedOn: Date.now(),
    opts: { attempts: 3 },
    moveToDelayed: async () => {},
    updateProgress: async () => {},
  };
  await bullmqProcessor({ "*": () => {} })(job);
  expect(seen).toMatchObject([{ id: "msg_1", by: "processor", attempt: 2, trace, outcome: "processed" }]);
  expect(seen[0]).not.toHaveProperty("waitMs");
});
