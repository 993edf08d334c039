import { postgresInbox, postgresState } from "@esim-webhooks/store-postgres";
import { redisState } from "@esim-webhooks/store-redis";
import { expect, it, onTestFinished } from "vitest";
import { startPostgres, startRedis } from "../../../../test/servers/index.ts";
import { startWorld, type World } from "./world.ts";

async function bringsInAndFindsNothingMore(world: World): Promise<void> {
  const arrived = await world.emit(2, "stores");
  const refused = await world.emit(2, "refuses");
  const exhausted = await world.emit(3, "down");
  await world.pass("16h");
  const lost = await world.emit(2, "forgets");
  const clock = { now: () => Date.now() + 16 * 3_600_000 };
  const report = await world.reconcile({ clock });
  expect(report).toMatchObject({
    ledger: { listed: 9, stored: 7, duplicate: 2 },
    recovered: { missed: 5, acknowledgedAndLost: 2 },
  });
  expect(report.ids.acknowledgedAndLost.toSorted()).toEqual(lost.toSorted());
  expect(world.lines).toMatchObject([
    { level: "error", message: expect.stringMatching(/acknowledged and lost/), fields: { events: 2 } },
  ]);
  expect(await world.stored()).toEqual([...arrived, ...refused, ...exhausted, ...lost].sort());
  const since = new Date(Date.now() - 3_600_000);
  expect(await world.reconcile({ since, clock })).toMatchObject({
    ledger: { listed: 9, stored: 0, duplicate: 9 },
    mark: report.mark,
  });
  expect(world.lines).toHaveLength(1);
}

it("brings missing events into Postgres, with the state in the same database", async () => {
  const server = await startPostgres();
  onTestFinished(() => server.close());
  const inbox = postgresInbox({ url: server.url, timeoutMs: 30_000 });
  await inbox.migrate();
  await bringsInAndFindsNothingMore(
    await startWorld({ inbox, state: postgresState({ url: server.url, timeoutMs: 30_000 }) }),
  );
});

it("keeps its state in Redis", async () => {
  const server = await startRedis();
  onTestFinished(() => server.close());
  await bringsInAndFindsNothingMore(
    await startWorld({ state: redisState(server.url, { timeoutMs: 30_000 }) }),
  );
});
