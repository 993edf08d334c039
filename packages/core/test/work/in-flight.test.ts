import type { Settlement, TakenEvent } from "@esim-webhooks/core";
import { expect, it, onTestFinished, vi } from "vitest";
import { silentLogger } from "../../src/base/logger.ts";
import { createInFlight } from "../../src/work/in-flight.ts";

const leaseMs = 30_000;

function takenEvent(id: string): TakenEvent {
  return {
    source: "default",
    id,
    token: id,
    type: "esim.enabled",
    body: new Uint8Array(),
    receivedAt: new Date(0),
    attempt: 1,
    waitedMs: 0,
    replayed: false,
    dueForMs: 0,
    trace: null,
  };
}

/** Events in hand, where the handler of one runs until `end`, and that of a suspect waits for its turn. */
function suspectAfterAnother() {
  vi.useFakeTimers({
    toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance"],
  });
  onTestFinished(() => void vi.useRealTimers());
  const stop = new AbortController();
  const ended = Promise.withResolvers<void>();
  const steps: string[] = [];
  const inFlight = createInFlight({
    worker: "host:1:abc",
    inbox: {
      extend: async (leases) => leases.map(() => true),
      async settle(settlements) {
        for (const { id, state } of settlements) steps.push(`${id} is ${state}`);
        return settlements.map(() => true);
      },
    },
    leaseMs,
    signal: stop.signal,
    backoff: () => 0,
    logger: silentLogger,
    watch: { expectedAt() {} },
    async runEvent({ taken: { source, id, token } }) {
      steps.push(`${id} starts`);
      if (id === "other") await ended.promise;
      return { settlement: { source, id, token, state: "done" } satisfies Settlement };
    },
    onFree() {},
    onEnded() {},
  });
  inFlight.start(takenEvent("other"), performance.now(), null);
  const alone = inFlight.startAlone(takenEvent("suspect"), performance.now(), null);
  return { inFlight, steps, alone, end: ended.resolve, stop: () => stop.abort() };
}

it("handles a suspect once the other events are settled", async () => {
  const { inFlight, steps, alone, end } = suspectAfterAnother();
  await vi.advanceTimersByTimeAsync(leaseMs - 1);
  expect(steps).toEqual(["other starts"]);
  end();
  expect(await alone).toBe(true);
  expect(steps).toEqual(["other starts", "other is done", "suspect starts", "suspect is done"]);
  await inFlight.stop(0);
});

it("handles a suspect while another handler runs that has not ended within a lease", async () => {
  const { inFlight, steps, alone, end } = suspectAfterAnother();
  await vi.advanceTimersByTimeAsync(leaseMs);
  expect(await alone).toBe(true);
  expect(steps).toEqual(["other starts", "suspect starts", "suspect is done"]);
  end();
  await inFlight.stop(leaseMs);
});

it("gives a suspect back, and does not handle it, if the worker stops while it waits for the others", async () => {
  const { inFlight, steps, alone, end, stop } = suspectAfterAnother();
  stop();
  await vi.advanceTimersByTimeAsync(0);
  expect(await alone).toBe(false);
  end();
  await inFlight.stop(leaseMs);
  expect(steps).toEqual(["other starts", "suspect is untouched", "other is done"]);
});
