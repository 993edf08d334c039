import { setTimeout as pause } from "node:timers/promises";
import { expect, it } from "vitest";
import { postgresUrl } from "../servers/shared.ts";
import { previousPostgres } from "./postgres-place.ts";
import { expectNothingLost, start, startBoth, untilBothHandle } from "./upgrade.ts";

it("Postgres with a million events is migrated while both versions receive and work, killed at any moment, and no event is lost", async () => {
  const place = await previousPostgres(postgresUrl, 1_000_000);
  const previous = await Promise.all([startBoth(place, "previous"), startBoth(place, "previous")]);
  await untilBothHandle(place, ["previous"]);
  for (let kills = 0; kills < 6; kills += 1) {
    const killed = start(place, "present", "migrator");
    await killed.line(/^(building an index|migrator)/);
    await pause(Math.random() * 500);
    killed.child.kill("SIGKILL");
    if (kills % 2 === 1)
      await place.query("select pg_terminate_backend(pid, 60000) from pg_stat_progress_create_index");
  }
  const beganAt = performance.now();
  const migrators = [1, 2, 3].map(() => start(place, "present", "migrator"));
  for (const { ended } of migrators) expect((await ended).code).toBe(0);
  const migratedMs = performance.now() - beganAt;
  const present = await Promise.all([startBoth(place, "present"), startBoth(place, "present")]);
  await untilBothHandle(place, ["previous", "present"]);
  await pause(5000);
  const all = [...previous, ...present];
  const received = await expectNothingLost(
    place,
    all.map(({ receiver }) => receiver),
    all.map(({ worker }) => worker),
  );
  console.log(`migrated in ${Math.round(migratedMs)} ms`, received);
});
