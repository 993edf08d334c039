import { join } from "node:path";
import type { Inbox, InboxEntry, TakenEvent } from "@esim-webhooks/core";
import { memoryInbox } from "@esim-webhooks/core/testing";
import { postgresInbox } from "@esim-webhooks/store-postgres";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { createSchema } from "../packages/store-postgres/test/schema.ts";
import { temporaryFolder } from "../packages/store-sqlite/test/temporary-folder.ts";
import { postgresUrl } from "./servers/shared.ts";

const fairBy = "source";
const limit = 20;

const inboxes: Readonly<Record<string, (options: { fairBy?: "source" }) => Promise<Inbox>>> = {
  memoryInbox: async (options) => memoryInbox(options),
  async sqliteInbox(options) {
    const folder = temporaryFolder();
    onTestFinished(folder.remove);
    return sqliteInbox({ path: join(folder.path, "events.db"), durability: "normal", ...options });
  },
  async postgresInbox(options) {
    const { schema, drop } = await createSchema();
    onTestFinished(drop);
    const inbox = postgresInbox({ url: postgresUrl, schema, ...options });
    await inbox.migrate();
    return inbox;
  },
};

function entries(source: string, count: number): InboxEntry[] {
  const timestamp = "2026-11-20T12:00:00Z";
  return Array.from({ length: count }, (_, index) => {
    const id = `msg_${index}`;
    const event = { id, type: "esim.assigned", timestamp, data: {} };
    return {
      source,
      id,
      type: event.type,
      event,
      body: Buffer.from(JSON.stringify(event)),
      receivedAt: new Date(),
    };
  });
}

/** The sources of the events of so many takes, after which a storm and a quiet source have waited. */
async function sourcesOf(open: (typeof inboxes)[string], takes: number, options: { fairBy?: "source" }) {
  const inbox = await open(options);
  const storm = entries("storm", 100_000);
  for (let at = 0; at < storm.length; at += 1000) await inbox.put(storm.slice(at, at + 1000));
  await inbox.put(entries("quiet", 10));
  const taken: TakenEvent[] = [];
  for (let count = 0; count < takes; count += 1)
    taken.push(...(await inbox.take({ limit, leaseMs: 600_000 })));
  await inbox.close();
  const of = (source: string) => taken.filter((event) => event.source === source).length;
  return { storm: of("storm"), quiet: of("quiet") };
}

describe.each(Object.entries(inboxes))(
  "on %s, behind a source with 100,000 events that are due for longer",
  (_, open) => {
    it("a source with ten is served by the first take, and so is the storm", {
      timeout: 120_000,
    }, async () => {
      expect(await sourcesOf(open, 1, { fairBy })).toEqual({ storm: 10, quiet: 10 });
    });

    it("a source with ten waits if the inbox is not fair", { timeout: 120_000 }, async () => {
      expect(await sourcesOf(open, 3, {})).toEqual({ storm: 60, quiet: 0 });
    });
  },
);

it("postgresInbox is not ready without the index that fairBy needs, and says what to call", async () => {
  const { schema, drop } = await createSchema();
  onTestFinished(drop);
  const plain = postgresInbox({ url: postgresUrl, schema });
  await plain.migrate();
  await plain.ready();
  const fair = postgresInbox({ url: postgresUrl, schema, fairBy });
  await expect(fair.ready()).rejects.toMatchObject({
    code: "migration_missing",
    message: expect.stringMatching(/has no index event_by_source.* Call migrate\(\) of a postgresInbox with/),
  });
  await fair.migrate();
  await fair.ready();
  await Promise.all([plain.close(), fair.close()]);
});
