import type { PostgresPool, PostgresPoolClient } from "kysely";
import { expect, it, onTestFinished } from "vitest";
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

it("listens to no server that only reads, and tries again until the address leads to one that writes", async () => {
  const queries: string[] = [];
  const answers = ["on", "on", "off"];
  const released: (boolean | undefined)[] = [];
  const connect = async () => ({
    async query(text: string) {
      queries.push(text);
      return { rows: text.startsWith("show") ? [{ transaction_read_only: answers.shift() }] : [] };
    },
    release: (destroy?: boolean) => void released.push(destroy),
  });
  const pool = { connect, end: async () => {} } as unknown as PostgresPool;
  const hinted = Promise.withResolvers<void>();
  onTestFinished(listenForHints(pool, "hints", hinted.resolve));
  await hinted.promise;
  const show = "show transaction_read_only";
  expect(queries).toEqual([show, show, show, 'listen "hints"']);
  expect(released).toEqual([true, true]);
});
