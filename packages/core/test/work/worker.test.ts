import { createWorker, type Inbox } from "@esim-webhooks/core";
import { sampleData } from "@esim-webhooks/core/testing";
import { describe, expect, it } from "vitest";

const body = Buffer.from(
  JSON.stringify({
    type: "esim.enabled",
    timestamp: "2026-01-01T00:00:00Z",
    data: sampleData("esim.enabled"),
  }),
);

/** An inbox that always has one more event, and does to settlements what the test says. */
function endlessInbox(changes: Partial<Inbox>): Inbox {
  let taken = 0;
  const inbox: Partial<Inbox> = {
    capabilities: {
      durable: false,
      multiProcess: false,
      transactional: false,
      ordered: false,
      retentionMs: 1000,
    },
    async take({ limit }) {
      return Array.from({ length: limit }, () => {
        taken += 1;
        const token = String(taken);
        return {
          source: "default",
          id: `msg_${token}`,
          token,
          body,
          receivedAt: new Date(),
          attempt: 1,
          replayed: false,
        };
      });
    },
    extend: async (leases) => leases.map(() => true),
    settle: async (settlements) => settlements.map(() => true),
    purge: async () => 0,
    ...changes,
  };
  return inbox as Inbox;
}

describe("createWorker", () => {
  it.each([1, 2, 5])(
    "goes on with %i at a time when its leases were lost before anything could be settled",
    async (concurrency) => {
      let isAway = true;
      const away = async () => {
        throw new Error("connection lost");
      };
      const inbox = endlessInbox({
        extend: (leases) => (isAway ? away() : Promise.resolve(leases.map(() => true))),
        settle: (settlements) => (isAway ? away() : Promise.resolve(settlements.map(() => true))),
      });
      const stop = new AbortController();
      let runs = 0;
      const handler = () => {
        runs += 1;
        if (runs > 2 * concurrency) isAway = false;
        if (runs > 20 * concurrency) stop.abort();
      };
      const worker = createWorker(inbox, { "*": handler }, { concurrency, leaseMs: 60, shutdownMs: 100 });
      await worker.run({ signal: stop.signal });
      expect(runs).toBeGreaterThan(20 * concurrency);
    },
  );

  it("works what there is for as long as there is more, and leaves nothing unsettled when it stops", async () => {
    const settled = new Set<string>();
    const stop = new AbortController();
    const inbox = endlessInbox({
      async settle(settlements) {
        for (const { token } of settlements) settled.add(token);
        return settlements.map(() => true);
      },
    });
    const started = new Set<string>();
    const handler = ({ id }: { id: string }) => {
      started.add(id);
      if (started.size >= 5000) stop.abort();
    };
    await createWorker(inbox, { "*": handler }, { concurrency: 50 }).run({ signal: stop.signal });
    expect(settled.size).toBe(started.size);
  });
});
