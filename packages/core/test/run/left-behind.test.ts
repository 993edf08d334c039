import type { EventEmitter } from "node:events";
import { createProcessor, type HandlerContext } from "@esim-webhooks/core";
import { createRunner } from "@esim-webhooks/core/run";
import { sampleData } from "@esim-webhooks/core/testing";
import { describe, expect, it, vi } from "vitest";
import { loggerTo } from "../../../../test/support/loggers.ts";

const timestamp = "2026-11-20T12:00:00Z";
const error = new Error("forgotten");

/** As Node.js does when an error reaches no handler of it. */
function leaveBehind(): void {
  (process as EventEmitter).emit("uncaughtExceptionMonitor", error, "unhandledRejection");
}

/** What twenty runners with one logger log as errors while `work` runs, and afterwards. */
async function logged(work: () => unknown): Promise<object[]> {
  const lines: object[] = [];
  const logger = loggerTo((fields, _message, level) => void (level === "error" && lines.push(fields)));
  const stop = new AbortController();
  const ended = Array.from({ length: 20 }, () => createRunner({ logger }).run({ signal: stop.signal }));
  await work();
  stop.abort();
  await Promise.all(ended);
  await work();
  return lines;
}

describe("an error that no code catches, while a runner runs", () => {
  it("is logged once, with the event whose handler left it behind, also after the handler has returned", async () => {
    const left = Promise.withResolvers<void>();
    const processor = createProcessor({
      "*": (event) => {
        if (event.id === "msg_2") setImmediate(() => left.resolve(leaveBehind()));
      },
    });
    let run = 0;
    const lines = await logged(async () => {
      for (const type of ["esim.enabled", "esim.faulted"] as const) {
        const id = type === "esim.faulted" ? "msg_2" : "msg_1";
        await processor.process({ id, type, timestamp, data: sampleData(type) }, { source: `run ${++run}` });
      }
      await left.promise;
    });
    expect(lines).toEqual([{ source: "run 2", id: "msg_2", type: "esim.faulted", err: error }]);
  });

  it("is not logged when no handler began it", async () => {
    expect(await logged(leaveBehind)).toEqual([]);
  });

  it("still ends the process: there is no listener of unhandledRejection", async () => {
    const listeners = process.listenerCount("unhandledRejection");
    await logged(() => expect(process.listenerCount("unhandledRejection")).toBe(listeners));
  });

  it("leaves a handler that answers synchronously without a promise", async () => {
    const handler = vi.fn((_: unknown, context: HandlerContext) => context.retryLater(7));
    const processor = createProcessor({ "*": handler });
    await logged(() => {
      const event = { id: "msg_1", type: "esim.enabled", timestamp, data: sampleData("esim.enabled") };
      const outcome = processor.accept({ kind: "known", type: event.type, event } as never);
      expect(outcome).toEqual({ code: "retry_later", retryAfterMs: 7 });
    });
    expect(handler).toHaveBeenCalledTimes(2);
  });
});
