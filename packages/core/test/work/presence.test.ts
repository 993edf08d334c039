import { hostname } from "node:os";
import type { WorkerReport } from "@esim-webhooks/core";
import { memoryInbox } from "@esim-webhooks/core/testing";
import { expect, it, vi } from "vitest";
import { keptLog } from "../../../../test/support/kept-log.ts";
import { createIdentity, keepPresent } from "../../src/work/presence.ts";
import { pass, stopTime } from "./stopped-time.ts";

const report = () => ({ concurrency: 1, running: 0, sinceLastTakeMs: null });

/** Runs `work` while a worker reports to the inbox, which may have another `paused`. */
async function present(inbox: ReturnType<typeof memoryInbox>, work: (log: Log) => Promise<void>) {
  const stop = new AbortController();
  const logger = keptLog();
  const running = keepPresent(inbox, createIdentity(), stop.signal, report, logger, 5);
  await work(logger);
  stop.abort();
  await running;
  return logger;
}
type Log = Record<"debug" | "info" | "warn" | "error", ReturnType<typeof vi.fn>>;

const began = "Events are paused: workers do not take them.";
const ended = "A pause of events has ended.";

it("logs each pause once: those at its start, and those that begin or end later", async () => {
  const inbox = memoryInbox();
  await inbox.pause({ types: ["esim.faulted"], reason: "CRM is down", by: "ops@web-1" });
  const { info, warn } = await present(inbox, async (log) => {
    await expect.poll(() => log.warn.mock.calls).toHaveLength(1);
    await inbox.pause({ reason: "all is down" });
    await expect.poll(() => log.warn.mock.calls).toHaveLength(2);
    await inbox.resume({ types: ["esim.faulted"] });
    await expect.poll(() => log.info.mock.calls).toHaveLength(1);
  });
  const since = expect.any(Date);
  const faulted = { type: "esim.faulted", reason: "CRM is down", by: "ops@web-1", since, until: null };
  const all = { type: "all types", reason: "all is down", by: null, since, until: null };
  expect(warn.mock.calls).toEqual([
    [faulted, began],
    [all, began],
  ]);
  expect(info.mock.calls).toEqual([[faulted, ended]]);
});

it("reports also while the inbox does not say what is paused, and logs the pause once it does", async () => {
  const inbox = memoryInbox();
  await inbox.pause({ reason: "all is down" });
  let isDown = true;
  const paused = () => (isDown ? Promise.reject(new Error("away")) : inbox.paused());
  const { warn } = await present({ ...inbox, paused }, async (log) => {
    await expect.poll(() => inbox.workers()).toHaveLength(1);
    isDown = false;
    await expect.poll(() => log.warn.mock.calls).toHaveLength(1);
  });
  expect(warn.mock.calls).toEqual([[expect.objectContaining({ type: "all types" }), began]]);
});

it("asks an inbox without operators' role for no pauses", async () => {
  const { capabilities, ...rest } = memoryInbox();
  const paused = vi.fn();
  const inbox = { ...rest, capabilities: { ...capabilities, roles: ["queue" as const] }, paused };
  await present(inbox, async () => {
    await expect.poll(() => inbox.workers()).toHaveLength(1);
  });
  expect(paused).not.toHaveBeenCalled();
});

it("reports every ten seconds who the worker is and for how long it has run, until it stops", async () => {
  stopTime();
  await pass(5000);
  const memory = memoryInbox();
  const reports: WorkerReport[] = [];
  const inbox = { ...memory, report: async (one: WorkerReport) => void reports.push(one) };
  const stop = new AbortController();
  const logger = keptLog();
  const identity = createIdentity();
  const running = keepPresent(inbox, identity, stop.signal, report, logger);
  await pass(25_000);
  stop.abort();
  await running;
  expect(reports).toEqual(
    [0, 10_000, 20_000].map((startedMsAgo) => ({ ...identity, ...report(), startedMsAgo })),
  );
  const host = hostname().slice(0, 60);
  expect(identity).toMatchObject({ host, pid: process.pid });
  expect(identity.id).toMatch(/:\d+:[0-9a-f]{6}$/);
  expect(identity.id.startsWith(`${host}:${process.pid}:`)).toBe(true);
  expect(createIdentity().id).not.toBe(identity.id);
});

it("ends immediately for an inbox that neither keeps reports nor has the role of operators", async () => {
  const { capabilities } = memoryInbox();
  const inbox = { capabilities: { ...capabilities, roles: ["queue" as const] } };
  const never = new AbortController().signal;
  const logger = keptLog();
  await keepPresent(inbox, createIdentity(), never, report, logger);
});
