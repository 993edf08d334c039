import { setTimeout as pause } from "node:timers/promises";
import { expect, it } from "vitest";
import { previousSqlite } from "./sqlite-place.ts";
import { expectNothingLost, start, startBoth, untilBothHandle } from "./upgrade.ts";

it("SQLite with a million events is migrated while both versions receive and work, killed at any moment, and no event is lost", async () => {
  const place = previousSqlite(1_000_000);
  const previous = await startBoth(place, "previous");
  await untilBothHandle(place, ["previous"]);
  for (let kills = 0; kills < 5; kills += 1) {
    const killed = start(place, "present", "migrator");
    await pause(300 + Math.random() * 1000);
    killed.child.kill("SIGKILL");
    await killed.ended;
  }
  const beganAt = performance.now();
  const migrated = await start(place, "present", "migrator").ended;
  expect(migrated.code, migrated.output).toBe(0);
  const migratedMs = performance.now() - beganAt;
  const present = await startBoth(place, "present");
  await untilBothHandle(place, ["previous", "present"]);
  await pause(5000);
  const workers = [previous.worker, present.worker];
  const received = await expectNothingLost(place, [previous.receiver, present.receiver], workers);
  console.log(`migrated in ${Math.round(migratedMs)} ms`, received);
});
