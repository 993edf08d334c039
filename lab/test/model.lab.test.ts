import { describe, expect, it } from "vitest";
import { smallBounds } from "../model/bounds.ts";
import type { Counterexample } from "../model/explore.ts";
import { mutations } from "../model/mutations.ts";
import { type RotationRule, rotationBounds, rotationRules, searchRotation } from "../model/rotation.ts";
import { type Rules, rules, search } from "../model/search.ts";
import { table } from "../model/state-machine.ts";

/** The first counterexample within the small bounds. */
function counterexampleTo(rules: Rules): Counterexample | undefined {
  for (const bounds of smallBounds) {
    const { counterexample } = search(bounds, rules);
    if (counterexample !== undefined) return counterexample;
  }
  return undefined;
}

describe("the state machine", () => {
  it("keeps its promises in every order of steps within the small bounds, and each of its transitions happens", () => {
    const results = smallBounds.map((bounds) => search(bounds));
    expect(results.map(({ counterexample }) => counterexample)).toEqual(smallBounds.map(() => undefined));
    const used = new Set(results.flatMap((result) => [...result.used]));
    expect(Object.keys(table).filter((name) => !used.has(name as keyof typeof table))).toEqual([]);
    expect(results.reduce((sum, { states }) => sum + states, 0)).toBeGreaterThan(100_000);
  });

  it.each(mutations)("breaks a promise if $mistake", ({ rules, breaks }) => {
    const found = counterexampleTo(rules);
    expect(found?.broken).toContain(breaks);
    expect(found?.steps.length).toBeGreaterThan(0);
  });

  it("shows a broken promise as a shortest way to it, in words", () => {
    const { table, checks } = rules;
    const withoutFence = { ...table, "settle retry": { ...table["settle retry"], guards: [] } };
    expect(counterexampleTo({ table: withoutFence, checks })).toEqual({
      broken: "the live lease on event 1 was ended by another",
      steps: [
        "A receiver stores event 1.",
        "worker A takes event 1.",
        "worker A starts the handler of event 1.",
        "The end of the lease on event 1 comes.",
        "The next take makes event 1 ready again: its lease has ended.",
        "The handler of event 1 throws in worker A.",
        "worker B takes event 1.",
        "worker A settles event 1 as retry.",
      ],
    });
  });
});

describe("a rotation", () => {
  it("has each authentic delivery verified, held off, or reconciled, in every order of its steps, kills included", () => {
    for (const bounds of rotationBounds) {
      const { counterexample, states } = searchRotation(bounds);
      expect(counterexample).toBeUndefined();
      expect(states).toBeGreaterThan(5000);
    }
  });

  it.each(Object.entries(rotationRules))("breaks a promise without the rule %s: %s", (rule) => {
    const found = rotationBounds.map(
      (bounds) => searchRotation(bounds, [rule as RotationRule]).counterexample,
    );
    expect(found.find((one) => one !== undefined)?.steps.length).toBeGreaterThan(3);
  });
});
