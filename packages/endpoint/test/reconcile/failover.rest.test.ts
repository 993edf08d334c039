import type { InboxWriter } from "@esim-webhooks/core";
import { reconcile } from "@esim-webhooks/endpoint";
import { bullmqInbox } from "@esim-webhooks/queue-bullmq";
import { postgresInbox } from "@esim-webhooks/store-postgres";
import { expect, it } from "vitest";
import { closedAfterEach } from "../../../../test/closed-after-each.ts";
import { postgresPair, redisPair } from "../../../../test/failover/pair.ts";
import { entry } from "../../../../test/inbox-entry.ts";
import { expectWarnings } from "../../../../test/support/warnings.ts";
import { made, servedListing } from "../served-listing.ts";
import { memoryState } from "./memory-state.ts";

expectWarnings("read_only_store");

const opened = closedAfterEach();

it.each([
  [
    "postgresInbox with an asynchronous standby",
    postgresPair,
    async (url: string) => {
      const inbox = postgresInbox({ url, timeoutMs: 30_000 });
      await inbox.migrate();
      return inbox;
    },
  ],
  ["bullmqInbox", redisPair, async (url: string) => bullmqInbox({ connection: url, timeoutMs: 30_000 })],
])("finds and stores each event that %s had acknowledged and lost in a failover", async (_, start, open) => {
  const pair = await start();
  opened.push(pair);
  const inbox: InboxWriter & { close?(): unknown } = await open(pair.url);
  opened.push({ close: () => inbox.close?.() });
  const ids = (name: string) => Array.from({ length: 10 }, (_, n) => `${name}-${n}`);
  const acknowledged = [...ids("before"), ...ids("split")];
  for (const id of ids("before")) await inbox.put([entry(id)]);
  await pair.promote(); // the old primary is cut off, and acknowledges alone
  for (const id of ids("split")) expect(await inbox.put([entry(id)])).toEqual(["stored"]);
  await pair.lead();
  await expect.poll(() => inbox.put([entry("after")]).catch(String), { timeout: 60_000 }).toEqual(["stored"]);

  const hourMs = 3_600_000;
  const nowMs = Date.now();
  const deliveries = [...acknowledged, "after"].map((id) => made({ id, occurredMs: nowMs - hourMs }));
  const { api, endpoint } = servedListing(() => deliveries);
  const since = new Date(nowMs - 2 * hourMs);
  const pass = () => reconcile(api, endpoint, inbox, { since, state: memoryState() });
  const { recovered, ids: found } = await pass();
  expect(recovered.acknowledgedAndLost).toBeGreaterThanOrEqual(10); // the last ones before may have been on their way to the standby
  expect(found.acknowledgedAndLost).toEqual(expect.arrayContaining(ids("split")));
  expect(await pass()).toMatchObject({ ledger: { stored: 0, duplicate: 21 } });
});
