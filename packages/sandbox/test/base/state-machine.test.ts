import { describe, expect, test } from "vitest";
import { move, type StateMachine, statesPassed } from "../../src/base/state-machine.ts";
import { refusal } from "../partner.ts";

type Light = "green" | "amber" | "red" | "off";

const light: StateMachine<Light, "next" | "break"> = {
  thing: "The light",
  moves: {
    green: { next: "amber", break: "off" },
    amber: { next: "red", break: "off" },
    red: { next: "green" },
    off: {},
  },
};

describe("move", () => {
  test("leads to the state of the table", () => {
    expect(move(light, "green", "next")).toBe("amber");
  });

  test("refuses what the table does not have, and says what is possible", () => {
    expect(() => move(light, "red", "break")).toThrow(
      refusal("illegal_transition", /^The light is red, and "break" is not possible then. Possible: next.$/),
    );
    expect(() => move(light, "off", "next")).toThrow(
      refusal(
        "illegal_transition",
        /^The light is off, and "next" is not possible then. Nothing is: this state is final.$/,
      ),
    );
  });
});

test.each([
  ["green", "amber", ["amber"]],
  ["green", "red", ["amber", "red"]],
  ["red", "green", ["green"]],
  ["green", "off", ["off"]],
  ["off", "red", ["red"]],
  ["red", "red", ["red"]],
] as const)("from %s to %s the states passed are %j", (from, to, passed) => {
  expect(statesPassed<Light>(["green", "amber", "red"], from, to)).toEqual(passed);
});
