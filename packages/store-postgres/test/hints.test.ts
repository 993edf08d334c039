import type { PostgresPool, PostgresPoolClient } from "kysely";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { createHandle, currentTaking, withHandle } from "../src/database/connection-handle.ts";
import { listenForHints } from "../src/database/hints.ts";

it("opens the connection that listens again for no operation, also if it was lost within one that is given up by then", async () => {
  const takings: unknown[] = [];
  let lose: (() => void) | undefined;
  const client = {
    query: async () => ({ rows: [] }),
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
  onTestFinished(listenForHints(pool, "hints", () => {}));
  await expect.poll(() => lose).toBeDefined();
  await withHandle({ handle: createHandle(), signal: AbortSignal.abort() }, async () => lose?.());
  await expect.poll(() => takings).toEqual([undefined, undefined]); // real timers: fake ones lose the context
});

describe("the connection that listens", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
  afterEach(() => void vi.useRealTimers());

  /** A pool whose connections are opened to servers that only read, or that write. */
  function poolTo(servers: ("reads" | "writes")[]) {
    const queries: string[] = [];
    const ends: (() => void)[] = [];
    let [opened, released] = [0, 0];
    const connect = async () => {
      const isReadOnly = servers[opened++] === "reads" ? "on" : "off";
      return {
        async query(text: string) {
          queries.push(text);
          return { rows: [{ transaction_read_only: isReadOnly }] };
        },
        release: () => void released++,
        on: (event: string, listener: () => void) => void (event === "end" && ends.push(listener)),
      };
    };
    const pool = { connect, end: async () => {} } as unknown as PostgresPool;
    return { pool, queries, ends, counts: () => ({ opened, released }) };
  }

  it("is opened again until its server writes: a former primary gives no hints", async () => {
    const { pool, queries, counts } = poolTo(["reads", "reads", "writes"]);
    const hinted = vi.fn();
    onTestFinished(listenForHints(pool, "hints", hinted));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(hinted).toHaveBeenCalledOnce();
    expect(queries).toEqual([...Array(3).fill("show transaction_read_only"), 'listen "hints"']);
    expect(counts()).toEqual({ opened: 3, released: 2 });
  });

  it("is opened once, also if an earlier one ends late", async () => {
    const { pool, ends, counts } = poolTo(["reads", "writes"]);
    const stop = listenForHints(pool, "hints", () => {});
    await vi.advanceTimersToNextTimerAsync();
    ends[0]?.();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(counts()).toEqual({ opened: 2, released: 1 });
    stop();
    expect(counts()).toEqual({ opened: 2, released: 2 });
  });
});
