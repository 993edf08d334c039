import { postgresStore } from "@esim-webhooks/store-postgres";
import { sql } from "kysely";
import { expect, it, onTestFinished } from "vitest";
import { createData, openInbox } from "../../test/inbox-data.ts";
import { postgresUrl } from "../../test/servers/shared.ts";
import { expectUsual, hourMs, laneOf, useAtRandom } from "./random-use.ts";

it.each([1, 2])(
  "what happens to the rows of a Postgres inbox that is used at random is in the table of the states (seed %i)",
  async (seed) => {
    const { schema, db, watch, changes } = await createData(postgresUrl);
    const inbox = openInbox(postgresUrl, { schema, lane: laneOf, retentionMs: hourMs });
    await inbox.migrate();
    const store = postgresStore({ url: postgresUrl, schema, retentionMs: hourMs });
    onTestFinished(() => store.close());
    await watch();
    const endShortLeases = async () => {
      const isLive = sql`select 1 from ${sql.id(schema, "event")}
      where state = 'leased' and ends_at > clock_timestamp() and ends_at < clock_timestamp() + interval '1 minute'`;
      await expect.poll(async () => (await isLive.execute(db)).rows).toEqual([]);
    };
    await useAtRandom({ inbox, store, endShortLeases }, 1000, seed);
    const checked = await changes();
    expectUsual(checked);
    const alsoSeen = [
      "lease end",
      "claim",
      "claim again",
      "claim unhandled",
      "put over a claim",
      "release a claim",
      "park",
    ] as const;
    expect(alsoSeen.filter((name) => !checked.seen.has(name))).toEqual([]);
  },
);
