import type { PostgresPool, PostgresPoolClient } from "kysely";
import { expect, it, onTestFinished } from "vitest";
import { createHandle, currentTaking, withHandle } from "../src/database/connection-handle.ts";
import { listenForHints } from "../src/database/hints.ts";

it("opens the connection that listens again for no operation, also if it was lost within one that is given up by then", async () => {
  const takings: unknown[] = [];
  let lose: (() => void) | undefined;
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
  onTestFinished(listenForHints(pool, "hints", () => {}));
  await expect.poll(() => lose).toBeDefined();
  await withHandle({ handle: createHandle(), signal: AbortSignal.abort() }, async () => lose?.());
  await expect.poll(() => takings).toEqual([undefined, undefined]); // real timers: fake ones lose the context
});
