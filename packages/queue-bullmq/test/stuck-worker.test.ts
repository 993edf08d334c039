import type { Logger } from "@esim-webhooks/core";
import { pauseWhileStuck } from "@esim-webhooks/queue-bullmq";
import { expect, it } from "vitest";

it("refuses a logger that is none, and names pauseWhileStuck", () => {
  const worker = { concurrency: 1, pause: async () => {}, resume() {}, isPaused: () => false };
  const watch = () => pauseWhileStuck(worker, { abandoned: () => 0 }, { logger: {} as Logger });
  expect(watch).toThrow('pauseWhileStuck: "logger": expected an object with debug()');
});
