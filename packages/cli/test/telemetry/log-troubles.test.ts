import { memoryInbox } from "@esim-webhooks/core/testing";
import { expect, it, onTestFinished, vi } from "vitest";
import { entry } from "../../../../test/inbox-entry.ts";
import { loggerWith } from "../../../../test/support/loggers.ts";
import { countOwnTimers } from "../../../../test/support/own-timers.ts";
import { logTroubles } from "../../src/telemetry/watched.ts";

it("logs what the inbox shows, with the remedy, a minute after the start, and nothing once it has stopped", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const inbox = memoryInbox();
  await inbox.put([entry("msg_1")]);
  const [taken] = await inbox.take({ limit: 1, leaseMs: 60_000 });
  if (taken === undefined) throw new Error("nothing was taken");
  const report = { reason: "timed_out", durationMs: 1, error: "no luck", worker: "w" } as const;
  await inbox.settle([{ ...taken, state: "dead", error: "no luck", report }]);

  const logged = Promise.withResolvers<[unknown, string]>();
  const warn = vi.fn((fields: unknown, text: string) => logged.resolve([fields, text]));
  const logger = loggerWith({ warn });
  const timers = countOwnTimers();
  const stop = logTroubles({ inbox, worker: undefined, catalog: undefined }, logger);
  vi.advanceTimersByTime(59_000);
  expect(warn).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1000);
  expect(await logged.promise).toEqual([
    { code: "events_dead", subject: "timed_out" },
    expect.stringMatching(
      /^Events are dead for the reason timed_out, .* See why: esim-webhooks inbox errors\./,
    ),
  ]);
  expect(timers()).toBe(1);
  await stop();
  expect(timers()).toBe(0);
});
