import { expect, it } from "vitest";
import { withDefer } from "../../src/program/with-defer.ts";

it("runs what was deferred after the task, the last one first", async () => {
  const log: string[] = [];
  await withDefer(async (defer) => {
    defer(() => log.push("target"));
    defer(async () => log.push("queue"));
    log.push("task");
  });
  expect(log).toEqual(["task", "queue", "target"]);
});

it("runs each step after a task or another step that fails, and rejects with the first error", async () => {
  const log: string[] = [];
  const failing = withDefer(async (defer) => {
    defer(() => log.push("target"));
    defer(() => Promise.reject(new Error("the queue is down")));
    defer(() => {
      throw new Error("the exporter is down");
    });
    throw new Error("the port is taken");
  });
  await expect(failing).rejects.toThrow("the port is taken");
  expect(log).toEqual(["target"]);
  await expect(withDefer(async (defer) => defer(() => Promise.reject(new Error("late"))))).rejects.toThrow(
    "late",
  );
});

it("runs only what was deferred before the task failed", async () => {
  const log: string[] = [];
  const failing = withDefer(async (defer) => {
    defer(() => log.push("target"));
    await Promise.reject(new Error("no queue"));
    defer(() => log.push("queue"));
  });
  await expect(failing).rejects.toThrow("no queue");
  expect(log).toEqual(["target"]);
});
