import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { Inbox, InboxRoleName } from "@esim-webhooks/core";
import { answered, type StoreServer } from "../store/store-faults.ts";
import { newEvents, type OpenInbox, withInbox } from "./inbox-context.ts";

/** One sentence about an inbox whose server goes away. */
export type InboxFaultScenario = readonly [
  sentence: string,
  needs: readonly InboxRoleName[],
  run: (open: OpenInbox<Inbox>, server: StoreServer) => Promise<void>,
];

export const inboxFaults: readonly InboxFaultScenario[] = [
  [
    "rejects what it could not store when its server is killed, and has everything that it said was stored",
    ["writer", "admin"],
    (open, server) =>
      withInbox(open, { timeoutMs: 2000 }, async (inbox) => {
        const events = newEvents();
        await answered(() => inbox.put([events.entry("first")]));
        const told: string[] = [];
        const some = Promise.withResolvers<void>();
        const puts = Array.from({ length: 400 }, async (_, n) => {
          await pause(n / 2);
          const results = await inbox.put([events.entry(`msg_${n}`)]);
          if (results[0] === "stored") told.push(`msg_${n}`);
          if (told.length === 50) some.resolve();
        });
        const settled = Promise.allSettled(puts);
        await Promise.race([some.promise, settled]);
        await server.kill();
        await server.start();
        for (const result of await settled) {
          if (result.status === "rejected") assert.equal(result.reason.code, "store_unavailable");
        }
        for (const id of told) {
          const row = await answered(() => inbox.get({ source: events.source, id }));
          assert.equal(row?.state, "ready");
        }
      }),
  ],
  [
    "rejects in a bounded time while its server is frozen, and goes on when it is back",
    ["writer", "queue", "admin"],
    (open, server) =>
      withInbox(open, { timeoutMs: 300 }, async (inbox) => {
        const events = newEvents();
        await answered(() => inbox.put([events.entry("a")]));
        await server.pause();
        try {
          const operations = [
            inbox.put([events.entry("b")]),
            events.take(inbox),
            inbox.stats(),
            inbox.purge(),
          ];
          for (const result of await Promise.allSettled(operations)) {
            assert.equal(result.status === "rejected" && result.reason.code, "store_unavailable");
          }
        } finally {
          await server.resume();
        }
        await answered(() => inbox.put([events.entry("c")]));
      }),
  ],
];
