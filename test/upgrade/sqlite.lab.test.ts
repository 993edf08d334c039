import { expect, it } from "vitest";
import { previousSqlite } from "./sqlite-place.ts";
import { expectNothingLost, start, startBoth, untilBothHandle } from "./upgrade.ts";

it("SQLite is migrated while both versions receive and work: killed in the middle, it is finished by the next process, and no event is lost", async () => {
  const place = previousSqlite(20_000);
  const previous = await startBoth(place, "previous");
  await untilBothHandle(place, ["previous"]);
  const killed = start(place, "present", "migrator");
  await expect.poll(() => place.query("select 1 from esim_webhooks_migration").length).toBeGreaterThan(1);
  killed.child.kill("SIGKILL");
  await killed.ended;
  await untilBothHandle(place, ["previous"]);
  const present = await startBoth(place, "present");
  await untilBothHandle(place, ["previous", "present"]);
  const workers = [previous.worker, present.worker];
  await expectNothingLost(place, [previous.receiver, present.receiver], workers);
  const late = start(place, "previous", "receiver");
  expect(await late.ended).toMatchObject({
    code: 1,
    output: expect.stringMatching(/at migration 3, and this version knows 1/),
  });
});
