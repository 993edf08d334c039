import { expect, it } from "vitest";
import { runNode } from "../../test/run.ts";

it("loses nothing, handles nothing twice and makes no forbidden change when workers are frozen longer than their leases", async () => {
  const { code, output } = await runNode(["lab/main.ts", "fleets", "frozen workers, sqlite", "--seed", "3"])
    .ended;
  expect(code, output).toBe(0);
  expect(output).toMatch(
    /^frozen workers, sqliteInbox: (\d+) events sent, \1 acknowledged, 3 faults struck, 0 lost, 0 handled twice, 0 forbidden transitions; .*; [1-9]\d* leases ended/m,
  );
});

it.each(["redisStore", "postgresStore"])(
  "handles nothing again that was acknowledged when receivers are frozen longer than the claims of their handlers in %s",
  async (store) => {
    const { code, output } = await runNode([
      "lab/main.ts",
      "fleets",
      `frozen receivers, ${store}`,
      "--seed",
      "1",
    ]).ended;
    expect(code, output).toBe(0);
    expect(output).toMatch(/^frozen receivers, .* 0 handled twice, .*; [1-9]\d* handled more than once/m);
  },
);

it("says which scenarios there are when none has the given name", async () => {
  const { code, output } = await runNode(["lab/main.ts", "fleets", "no such name"]).ended;
  expect(code).toBe(1);
  expect(output).toMatch(/^Name a part of one of these scenarios: failover, redisStore, .*network, /m);
});
