import type { PostgresPool, PostgresPoolClient } from "kysely";
import { expect, it, onTestFinished, vi } from "vitest";
import { createHandle, currentTaking, withHandle } from "../src/database/connection-handle.ts";
import { listenForHints } from "../src/database/hints.ts";

it("opens the connection that listens again for no operation, also if it was lost within one that is given up by then", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const takings: unknown[] = [];
  let lose = () => {};
  const client = {
    query: async () => {},
    release() {},
    on(event: string, listener: () => void) {
      if (event === "end") lose = listener;
    },
  };
  const pool: PostgresPool = {
    async connect() {
      takings.push(currentTaking());
      return client as unknown as PostgresPoolClient;
    },
    end: async () => {},
  } as PostgresPool;
  const stop = listenForHints(pool, "hints", () => {});
  await vi.advanceTimersByTimeAsync(0);
  await withHandle({ handle: createHandle(), signal: AbortSignal.abort() }, async () => lose());
  await vi.advanceTimersByTimeAsync(1500);
  stop();
  expect(takings).toEqual([undefined, undefined]);
});
