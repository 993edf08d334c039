import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { Inbox, InboxRoleName } from "@esim-webhooks/core";
import { answered, type StoreServer } from "../store/store-faults.ts";
import { newEvents, type OpenInbox, withInbox } from "./inbox-context.ts";

/** A scenario in which the inbox's server goes down. */
export type InboxFaultScenario = readonly [
  sentence: string,
  needs: readonly InboxRoleName[],
  run: (open: OpenInbox<Inbox>, server: StoreServer) => Promise<void>,
];

export const inboxFaults: readonly InboxFaultScenario[] = [
  [
    "still has every event that it answered stored when its server is killed, and rejects the others",
    ["writer", "admin"],
    (open, server) =>
      withInbox(open, { timeoutMs: 2000 }, async (inbox) => {
        const events = newEvents();
        await answered(() => inbox.put([events.entry("first")]));
        const answeredStored: string[] = [];
        const fifty = Promise.withResolvers<void>();
        const puts = Array.from({ length: 400 }, async (_, n) => {
          await pause(n / 2);
          const results = await inbox.put([events.entry(`msg_${n}`)]);
          if (results[0] === "stored") answeredStored.push(`msg_${n}`);
          if (answeredStored.length === 50) fifty.resolve();
        });
        const settled = Promise.allSettled(puts);
        await Promise.race([fifty.promise, settled]);
        await server.kill();
        await server.start();
        for (const result of await settled) {
          if (result.status === "rejected") assert.equal(result.reason.code, "store_unavailable");
        }
        for (const id of answeredStored) {
          const row = await answered(() => inbox.get({ source: events.source, id }));
          assert.equal(row?.state, "ready");
        }
      }),
  ],
  [
    "rejects in a bounded time while its server is frozen, and recovers afterwards",
    ["writer", "queue", "admin"],
    (open, server) =>
      withInbox(open, { timeoutMs: 2000 }, async (inbox) => {
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
