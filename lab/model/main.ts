// npm run lab -- model
import { defaultBounds } from "./bounds.ts";
import type { Explored } from "./explore.ts";
import { mutations } from "./mutations.ts";
import { rotationBounds, rotationRules, searchRotation } from "./rotation.ts";
import { search } from "./search.ts";

/** Explores the state machine and the rotation, and prints what was explored. Returns whether every promise holds. */
export function runModel(): boolean {
  console.log(
    "The state machine (docs/state-machine.md) and the rotation (docs/rotation.md), in every order of their steps:",
  );
  const explored = [
    ...defaultBounds.map((bounds) => print(bounds.name, search(bounds))),
    ...rotationBounds.map((bounds) => print(bounds.name, searchRotation(bounds))),
  ];
  const states = explored.reduce((sum, result) => sum + result.states, 0);
  const seconds = explored.reduce((sum, result) => sum + result.seconds, 0);
  const mistakes = mutations.length + Object.keys(rotationRules).length;
  console.log(
    `${states.toLocaleString("en")} states in ${seconds.toFixed(1)} s. The unit tests check that each of ${mistakes} mistakes in the rules has a counterexample.`,
  );
  return explored.every(({ counterexample }) => counterexample === undefined);
}

function print(name: string, result: Explored): Explored {
  const { states, depth, seconds, counterexample } = result;
  console.log(
    `  ${name}: ${states.toLocaleString("en")} states, ${depth} steps deep, ${seconds.toFixed(1)} s${counterexample === undefined ? "" : `: ${counterexample.broken}`}`,
  );
  for (const [index, step] of (counterexample?.steps ?? []).entries())
    console.log(`    ${index + 1}. ${step}`);
  return result;
}
