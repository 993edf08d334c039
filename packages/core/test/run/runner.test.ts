import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createWorker, nodeHandler, type Receiver } from "@esim-webhooks/core";
import { createRunner } from "@esim-webhooks/core/run";
import { memoryInbox, newSecret } from "@esim-webhooks/core/testing";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { entry } from "../../../../test/inbox-entry.ts";
import { loggerTo } from "../../../../test/support/loggers.ts";
import { signedDelivery } from "../../../../test/support/signed-delivery.ts";

const secret = newSecret();
const nothing = () => {};
const silent = loggerTo(nothing);

/** Parts that write down what happens to them, and that end when the test lets them. */
function parts() {
  const log: string[] = [];
  const gates = { delivery: Promise.withResolvers<void>(), event: Promise.withResolvers<void>() };
  const receiver: Pick<Receiver, "ready" | "close"> = {
    async ready() {},
    async close() {
      log.push("receiver answers 503");
      await gates.delivery.promise;
      log.push("deliveries have ended");
    },
  };
  const worker = {
    sinceLastTakeMs: () => 0,
    isHealthy: () => true,
    async run({ signal }: { readonly signal: AbortSignal }) {
      log.push("worker runs");
      if (!signal.aborted) await once(signal, "abort");
      log.push("worker takes no more");
      await gates.event.promise;
      log.push("events have ended");
    },
  };
  const server = {
    close(done: () => void) {
      log.push("server accepts no more");
      void gates.delivery.promise.then(done);
    },
    closeIdleConnections() {},
    closeAllConnections() {},
  };
  const closing = (name: string) => ({ close: async () => void log.push(`${name} is closed`) });
  return { log, gates, receiver, worker, server, closing };
}

describe("createRunner", () => {
  it("stops in order: nothing more is accepted, what was accepted ends, and the stores are closed last", async () => {
    const { log, gates, receiver, worker, server, closing } = parts();
    const stop = new AbortController();
    const { run, readiness, liveness } = createRunner({ receiver, worker });
    const { close: unwatch } = liveness;
    vi.spyOn(liveness, "close").mockImplementation(() => {
      log.push("liveness is closed");
      unwatch();
    });
    const close = [closing("inbox"), closing("state")];
    const ended = run({ signal: stop.signal, server, close });
    expect(await readiness.check()).toMatchObject({ ok: true });
    expect(await liveness.check()).toMatchObject({ ok: true });
    expect(log).toEqual(["worker runs"]);
    stop.abort();
    expect(await readiness.check()).toMatchObject({
      ok: false,
      checks: [{ name: "process", code: "shutting_down" }, { name: "receiver" }],
    });
    expect(log.sort()).toEqual([
      "receiver answers 503",
      "server accepts no more",
      "worker runs",
      "worker takes no more",
    ]);
    log.length = 0;
    gates.event.resolve();
    gates.delivery.resolve();
    await ended;
    expect(log.slice(0, 2).sort()).toEqual(["deliveries have ended", "events have ended"]);
    expect(log.slice(2)).toEqual(["liveness is closed", "inbox is closed", "state is closed"]);
  });

  it("accepts deliveries for drainMs after the signal, while it is not ready any more", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { log, gates, receiver, worker, server } = parts();
    gates.event.resolve();
    gates.delivery.resolve();
    const stop = new AbortController();
    const { run, readiness } = createRunner({ receiver, worker, drainMs: 15_000 });
    const ended = run({ signal: stop.signal, server });
    stop.abort();
    expect(await readiness.check()).toMatchObject({ ok: false });
    await vi.advanceTimersByTimeAsync(14_999);
    expect(log).toEqual(["worker runs", "worker takes no more", "events have ended"]);
    await vi.advanceTimersByTimeAsync(1);
    expect(log).toEqual(expect.arrayContaining(["receiver answers 503", "server accepts no more"]));
    vi.useRealTimers();
    await ended;
  });

  it("does not wait drainMs when a part of the process failed, since nothing planned that stop", async () => {
    const { log, gates, receiver, server } = parts();
    gates.delivery.resolve();
    const worker = { ...parts().worker, run: () => Promise.reject(new Error("the inbox is gone")) };
    const { run } = createRunner({ receiver, worker, drainMs: 3_600_000 });
    await expect(run({ signal: new AbortController().signal, server })).rejects.toThrow("the inbox is gone");
    expect(log).toEqual(expect.arrayContaining(["receiver answers 503", "server accepts no more"]));
  });

  it("closes no store before the last event and the last delivery have ended", async () => {
    for (const last of ["event", "delivery"] as const) {
      const { log, gates, receiver, worker, closing } = parts();
      const stop = new AbortController();
      const ended = createRunner({ receiver, worker }).run({
        signal: stop.signal,
        close: [closing("inbox")],
      });
      stop.abort();
      gates[last === "event" ? "delivery" : "event"].resolve();
      await new Promise(setImmediate);
      expect(log).not.toContain("inbox is closed");
      gates[last].resolve();
      await ended;
      expect(log.at(-1)).toBe("inbox is closed");
    }
  });

  it("closes the others when one cannot be closed, and rejects with the first error", async () => {
    const { log, receiver, worker, gates, closing } = parts();
    const failing = (message: string) => ({ close: () => Promise.reject(new Error(message)) });
    const { run } = createRunner({ receiver, worker });
    const close = [failing("the inbox is down"), closing("state"), failing("the pool is down")];
    gates.event.resolve();
    gates.delivery.resolve();
    await expect(run({ signal: AbortSignal.abort(), close })).rejects.toThrow("the inbox is down");
    expect(log).toContain("events have ended");
    expect(log.at(-1)).toBe("state is closed");
  });

  it("gives up what does not close in time, says which, and closes the rest", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    onTestFinished(() => void vi.useRealTimers());
    for (const [shutdownMs, boundMs] of [
      [1, 10_000],
      [25_000, 25_000],
    ] as const) {
      const { log, closing } = parts();
      const lines: unknown[] = [];
      const logger = { ...silent, error: ({ err }: { readonly err?: unknown }) => void lines.push(err) };
      const hangs = { close: () => new Promise<void>(nothing) };
      const close = [closing("inbox"), hangs, closing("state")];
      const ended = createRunner({ shutdownMs, logger }).run({ signal: AbortSignal.abort(), close });
      const error = {
        code: "close_timed_out",
        message: expect.stringContaining(`close[1] was not closed within ${boundMs} ms`),
      };
      const rejected = expect(ended).rejects.toMatchObject(error);
      await vi.advanceTimersByTimeAsync(boundMs - 1);
      expect(log).toEqual(["inbox is closed"]);
      await vi.advanceTimersByTimeAsync(1);
      await rejected;
      expect(log).toEqual(["inbox is closed", "state is closed"]);
      expect(lines).toMatchObject([error]);
    }
  });

  it.each(["worker", "reconciler"] as const)(
    "stops everything else when the %s fails, closes the stores, and rejects with its error",
    async (failing) => {
      const { log, gates, receiver, worker, closing } = parts();
      const { promise, reject } = Promise.withResolvers<void>();
      const failed = { ...worker, run: () => promise };
      const both = { worker, reconciler: { run: worker.run }, [failing]: failed };
      const ended = createRunner({ receiver, ...both }).run({
        signal: new AbortController().signal,
        close: [closing("inbox")],
      });
      reject(new Error("a bug"));
      gates.event.resolve();
      gates.delivery.resolve();
      await expect(ended).rejects.toThrow("a bug");
      expect(log).toEqual(
        expect.arrayContaining(["receiver answers 503", "deliveries have ended", "events have ended"]),
      );
      expect(log.at(-1)).toBe("inbox is closed");
    },
  );

  it("waits for deliveries until shutdownMs, and closes the stores once a late one has ended, so that its claim is marked", async () => {
    const { log, gates, receiver, closing } = parts();
    const warnings: unknown[] = [];
    const { run } = createRunner({
      receiver: [receiver],
      shutdownMs: 1,
      logger: { ...silent, warn: (fields: object) => warnings.push(fields) },
    });
    const closed = Promise.withResolvers<void>();
    await run({
      signal: AbortSignal.abort(),
      close: [closing("store"), { close: async () => closed.resolve() }],
    });
    expect(log).toEqual(["receiver answers 503"]);
    expect(warnings).toEqual([{ shutdownMs: 1 }]);
    gates.delivery.resolve();
    await closed.promise;
    expect(log).toEqual(["receiver answers 503", "deliveries have ended", "store is closed"]);
  });

  it("logs each part that fails when it fails, and waits for the other receivers if one cannot be closed", async () => {
    const { log, gates, receiver, worker, closing } = parts();
    const errors: unknown[] = [];
    const failed = Promise.withResolvers<void>();
    const logger = {
      ...silent,
      error({ err }: { readonly err?: unknown }) {
        errors.push((err as Error).message);
        failed.resolve();
      },
    };
    const throws = {
      ready: receiver.ready,
      close(): Promise<void> {
        throw new Error("a bug of this receiver");
      },
    };
    const broken = { ...worker, run: () => Promise.reject(new Error("a bug")) };
    const down = { close: () => Promise.reject(new Error("the inbox is down")) };
    const { run } = createRunner({ receiver: [throws, receiver], worker: broken, logger });
    const ended = run({ signal: new AbortController().signal, close: [down, closing("state")] });
    await failed.promise;
    expect(errors).toEqual(["a bug"]);
    expect(log).not.toContain("state is closed");
    gates.delivery.resolve();
    await expect(ended).rejects.toThrow("a bug");
    expect(errors).toEqual(["a bug", "a bug of this receiver", "the inbox is down"]);
    expect(log).toEqual(["receiver answers 503", "deliveries have ended", "state is closed"]);
  });

  it("rejects when the server cannot be closed, after all else has ended", async () => {
    const { log, closing } = parts();
    const server = {
      ...parts().server,
      close: () => {
        throw new Error("it never listened");
      },
    };
    const ended = createRunner({}).run({ signal: AbortSignal.abort(), server, close: [closing("store")] });
    await expect(ended).rejects.toThrow("it never listened");
    expect(log).toEqual(["store is closed"]);
  });

  it("answers a delivery that it has accepted, over HTTP, and handles the event that its worker has taken", async () => {
    const inbox = memoryInbox();
    const entered = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const handled: string[] = [];
    const handlers = {
      "*": async ({ id }: { readonly id: string }) => {
        entered.resolve();
        await gate.promise;
        handled.push(id);
      },
    };
    const inline = Promise.withResolvers<void>();
    const receiver = nodeHandler(
      {
        "*": async () => {
          inline.resolve();
          await gate.promise;
        },
      },
      { secret },
    );
    const server = createServer(receiver);
    await once(server.listen(0, "127.0.0.1"), "listening");
    const stop = new AbortController();
    const worker = createWorker(inbox, handlers, { pollMs: 5 });
    const closed: number[] = [];
    const { run } = createRunner({ receiver, worker, inbox });
    const ended = run({
      signal: stop.signal,
      server,
      close: [{ close: async () => void closed.push(handled.length) }],
    });
    await inbox.put([entry("taken")]);
    const { port } = server.address() as AddressInfo;
    const request = signedDelivery(secret);
    const headers = { ...request.headers, connection: "close" };
    const answer = fetch(`http://127.0.0.1:${port}`, { ...request, headers });
    await Promise.all([entered.promise, inline.promise]);
    stop.abort();
    gate.resolve();
    expect((await answer).status).toBe(200);
    await ended;
    expect(handled).toEqual(["taken"]);
    expect(closed).toEqual([1]);
    expect(server.listening).toBe(false);
  });

  it("checks the inbox, the store and the worker in its probes", async () => {
    const { worker } = parts();
    const inbox = Object.assign(memoryInbox(), { ready: () => Promise.reject(new Error("it is down")) });
    const { readiness, liveness } = createRunner({ inbox, worker: { ...worker, isHealthy: () => false } });
    expect(await readiness.check()).toMatchObject({ checks: [{ ok: true }, { name: "inbox", ok: false }] });
    expect(await liveness.check()).toMatchObject({
      checks: [{ name: "event_loop" }, { name: "worker", code: "handlers_abandoned" }],
    });
    liveness.close();
  });

  it.each([
    [{ receiver: {} }, /"receiver"/],
    [
      { worker: { run() {} } },
      /"worker": expected an object with run\(\), sinceLastTakeMs\(\), isHealthy\(\)/,
    ],
    [{ handlers: {} }, /there is no option "handlers"/],
    [{ shutdownMs: 0 }, /"shutdownMs": expected at least 1 ms/],
  ])("refuses the options %o", (options, message) => {
    expect(() => createRunner(options as object)).toThrow(
      expect.objectContaining({ code: "invalid_option", message: expect.stringMatching(message) }),
    );
  });

  it("runs nothing without a signal, and says why it needs one", async () => {
    const { log, worker } = parts();
    const { run, liveness } = createRunner({ worker });
    await expect(run({} as never)).rejects.toMatchObject({
      code: "invalid_option",
      message: expect.stringMatching(/"signal": expected an AbortSignal: without one, nothing could stop/),
    });
    expect(log).toEqual([]);
    liveness.close();
  });
});
