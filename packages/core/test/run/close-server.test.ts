import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { closeServer } from "../../src/run/close-server.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A server with one connection, which ends only when it is closed. */
function serverWith(connection: "idle" | "busy") {
  const log: string[] = [];
  let done = () => {};
  const end = (what: string) => {
    log.push(`${what} connections are closed`);
    if (what === "all" || connection === "idle") done();
  };
  const server = {
    close(callback: () => void) {
      log.push("accepts no more");
      done = callback;
    },
    closeIdleConnections: () => end("idle"),
    closeAllConnections: () => end("all"),
  };
  return { log, server };
}

it("closes idle connections one second after the last answer, and a request that lasts once its time is over", async () => {
  for (const [connection, expected] of [
    ["idle", ["accepts no more", "idle connections are closed"]],
    ["busy", ["accepts no more", "idle connections are closed", "all connections are closed"]],
  ] as const) {
    const { log, server } = serverWith(connection);
    const answered = Promise.withResolvers<void>();
    const closed = closeServer(server, answered.promise, 5000);
    await vi.advanceTimersByTimeAsync(3000);
    expect(log).toEqual(["accepts no more"]);
    answered.resolve();
    await vi.advanceTimersByTimeAsync(1000);
    expect(log).toEqual(["accepts no more", "idle connections are closed"]);
    await vi.advanceTimersByTimeAsync(1000);
    await closed;
    await vi.advanceTimersByTimeAsync(10_000); // nothing is closed a second time
    expect(log).toEqual(expected);
  }
});

it("gives a request at least the second in which the last answer is read", async () => {
  const { log, server } = serverWith("busy");
  const closed = closeServer(server);
  await vi.advanceTimersByTimeAsync(999);
  expect(log).toEqual(["accepts no more"]);
  await vi.advanceTimersByTimeAsync(1);
  await closed;
  expect(log.at(-1)).toBe("all connections are closed");
});
