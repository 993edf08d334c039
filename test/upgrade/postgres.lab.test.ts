import { expect, it } from "vitest";
import { postgresUrl } from "../servers/shared.ts";
import { previousPostgres } from "./postgres-place.ts";
import { expectNothingLost, start, startBoth, untilBothHandle } from "./upgrade.ts";

it("Postgres is migrated while both versions receive and work: killed twice, it is finished by the third run, and no event is lost", async () => {
  const place = await previousPostgres(postgresUrl, 1000);
  const previous = await startBoth(place, "previous");
  await untilBothHandle(place, ["previous"]);

  const reader = await place.connect();
  await reader.query("begin; select from esim_webhooks.event limit 1");
  const first = start(place, "present", "migrator");
  await expect
    .poll(() => place.query("select from pg_locks where mode = 'AccessExclusiveLock' and not granted"))
    .not.toEqual([]);
  first.child.kill("SIGKILL");
  await first.ended;
  await untilBothHandle(place, ["previous"]);

  const older = await place.connect(); // the index waits for its transaction
  await older.query("begin isolation level repeatable read; select 1");
  const second = start(place, "present", "migrator");
  await reader.query("commit");
  const isBuilding = () =>
    place.query("select pid from pg_stat_progress_create_index where phase like 'waiting for old%'");
  await expect.poll(isBuilding).not.toEqual([]);
  second.child.kill("SIGKILL");
  await second.ended;
  await place.query("select pg_terminate_backend(pid, 60000) from pg_stat_progress_create_index");
  const invalid = () => place.query("select indexrelid::regclass::text from pg_index where not indisvalid");
  expect(await invalid()).toEqual([{ indexrelid: "esim_webhooks.event_ready" }]);
  await untilBothHandle(place, ["previous"]);

  const third = start(place, "present", "migrator");
  await third.line(/^building an index/);
  await older.query("commit");
  expect((await third.ended).code).toBe(0);
  expect(await invalid()).toEqual([]);

  const present = await startBoth(place, "present");
  await untilBothHandle(place, ["previous", "present"]);
  const workers = [previous.worker, present.worker];
  await expectNothingLost(place, [previous.receiver, present.receiver], workers);

  const late = start(place, "previous", "receiver");
  expect(await late.ended).toMatchObject({
    code: 1,
    output: expect.stringMatching(
      /at migration 3, and this version knows no later one than 1\. Run the version that migrated it/,
    ),
  });
});
