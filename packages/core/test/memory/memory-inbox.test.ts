import { memoryInbox } from "@esim-webhooks/core/testing";
import { describe, expect, it, vi } from "vitest";
import { loggerWith } from "../../../../test/support/loggers.ts";

/** An entry whose body is no event. */
function bareEntry(id: string, body = Buffer.from(`{"of":"${id}"}`)) {
  return { source: "default", id, type: "test", event: null, body, receivedAt: new Date() };
}

describe("memoryInbox", () => {
  it("uses the clock that it is given", async () => {
    let now = 0;
    const inbox = memoryInbox({ clock: { now: () => now }, retentionMs: 10 * 86_400_000 });
    await inbox.put([bareEntry("a")]);
    await inbox.take({ limit: 1, leaseMs: 1000 });
    now = 999;
    expect(await inbox.take({ limit: 1, leaseMs: 1000 })).toEqual([]);
    now = 1000;
    const [taken] = await inbox.take({ limit: 1, leaseMs: 1000, suspects: true });
    expect(taken?.attempt).toBe(2);
    if (taken) await inbox.settle([{ ...taken, state: "done" }]);
    now += 10 * 86_400_000 - 1;
    expect(await inbox.purge()).toBe(0);
    now += 6 * 3_600_000;
    expect(await inbox.purge()).toBe(1);
  });

  it("says of an event that was behind an erased one that it has been due since the erasure", async () => {
    let now = 0;
    const inbox = memoryInbox({
      clock: { now: () => now },
      lane: () => "one",
      subject: (data) => data["of"],
    });
    const event = { type: "test", timestamp: "2026-01-01T00:00:00Z" };
    await inbox.put(
      ["a", "b"].map((id) => ({
        ...bareEntry(id, Buffer.from(JSON.stringify({ ...event, data: { of: id } }))),
        event: { ...event, id, data: { of: id } },
      })),
    );
    now = 3_600_000;
    expect((await inbox.gauges()).oldestReadyMs).toBe(3_600_000);
    expect(await inbox.erase("a")).toMatchObject({ ready: 1 });
    now += 500;
    expect((await inbox.gauges()).oldestReadyMs).toBe(500);
  });

  it("stores no entry of a call when it refuses one of them", async () => {
    const inbox = memoryInbox();
    await expect(inbox.put([bareEntry("a"), bareEntry("b\0")])).rejects.toMatchObject({
      code: "invalid_input",
    });
    expect(await inbox.count()).toBe(0);
  });

  it("stores an event without a subject when the option subject throws, and logs it", async () => {
    const error = vi.fn();
    const logger = loggerWith({ error });
    const subject = () => {
      throw new Error("no account");
    };
    const inbox = memoryInbox({ subject, logger });
    expect(await inbox.put([bareEntry("a"), bareEntry("b")])).toEqual(["stored", "stored"]);
    expect(await inbox.get(bareEntry("a"))).toMatchObject({ subject: null });
    expect(error).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ err: new Error("no account") }),
      expect.stringMatching(/^The subject option threw/),
    );
  });

  it("stores an event without a lane when the option lane throws, and logs it", async () => {
    const error = vi.fn();
    const logger = loggerWith({ error });
    const lane = () => {
      throw new Error("no reference");
    };
    const inbox = memoryInbox({ lane, logger });
    const event = { id: "a", type: "test", timestamp: "2026-01-01T00:00:00Z", data: {} };
    await inbox.put([{ ...bareEntry("a"), event }]);
    expect(await inbox.get(bareEntry("a"))).toMatchObject({ lane: null });
    expect(error).toHaveBeenCalledOnce();
  });

  it("keeps the bodies of done events with keepBodies", async () => {
    const inbox = memoryInbox({ keepBodies: true });
    await inbox.put([bareEntry("a")]);
    const taken = await inbox.take({ limit: 1, leaseMs: 1000 });
    await inbox.settle(taken.map((one) => ({ ...one, state: "done" })));
    expect((await inbox.get(bareEntry("a")))?.body).toEqual(new Uint8Array(bareEntry("a").body));
  });

  it("refuses an option that it does not have", () => {
    expect(() => memoryInbox({ lanes: () => "a" } as never)).toThrow(/Did you mean "lane"\?/);
  });
});
