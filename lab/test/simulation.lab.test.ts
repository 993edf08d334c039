import { describe, expect, it } from "vitest";
import { runNode } from "../../test/run.ts";
import { type Break, breaks } from "../simulation/engines.ts";
import type { EngineName } from "../simulation/world.ts";
import { simulated } from "./simulating.ts";

describe("a simulation", () => {
  it.each<EngineName>(["server", "sqlite"])(
    "takes the same steps for the same seed in two processes, on the engine %s",
    async (engine) => {
      const [one, other] = await Promise.all([simulated(5, 40, { engine }), simulated(5, 40, { engine })]);
      expect(other.trace).toBe(one.trace);
      expect(other).toEqual({ ...one, realMs: other.realMs });
      expect((await simulated(6, 40, { engine })).trace).not.toBe(one.trace);
    },
  );

  it.each<[EngineName, number]>([
    ["server", 1],
    ["sqlite", 4],
  ])("keeps every promise on the engine %s with seed %i, whose faults strike", async (engine, seed) => {
    const { failure, counts } = await simulated(seed, 200, { engine });
    expect(failure).toBeUndefined();
    for (const what of [
      "acknowledged",
      "kills",
      "runs",
      "put: already_stored",
      "rotations",
      "forgeries refused",
    ])
      expect(counts[what], what).toBeGreaterThan(0);
    expect(counts["put: stored"]).toBe(200);
  });

  const messages: Readonly<Record<Break, RegExp>> = {
    fence: /late owner/,
    acknowledge: /was acknowledged, and is not stored/,
    lane: /lane .* was taken/,
    extend: /was taken by .* while the lease of .* is live|was refused, and its lease is held/,
    forget: /was acknowledged, and is not stored|alarm for events that were acknowledged/,
  };

  it.each(Object.keys(breaks) as Break[])(
    "notices within eight seeds that an engine breaks the rule %s, and shows the last fifty lines",
    async (broken) => {
      for (let seed = 1; seed <= 8; seed += 1) {
        const { failure } = await simulated(seed, 400, { broken });
        if (failure === undefined) continue;
        expect(failure.message).toMatch(messages[broken]);
        expect(failure.lines.length).toBeGreaterThan(20);
        expect(failure.lines.length).toBeLessThanOrEqual(50);
        expect(failure.lines.at(-1)).toMatch(/^FAILED/);
        return;
      }
      expect.unreachable("No seed has noticed it.");
    },
  );

  it("keeps every promise with each of the seeds that fit in 15 s", async () => {
    const options = ["--seed", "1000", "--seeds", "200", "--events", "200", "--seconds", "15"];
    const { ended } = runNode([
      "--disable-warning=ExperimentalWarning",
      "lab/simulation/main.ts",
      ...options,
    ]);
    const { code, output } = await ended;
    expect(code, output).toBe(0);
    expect(Number(/^(\d+) seeds, 0 failed/m.exec(output)?.[1])).toBeGreaterThan(0);
  });
});
