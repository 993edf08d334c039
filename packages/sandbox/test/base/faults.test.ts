import { describe, expect, test } from "vitest";
import { createFaults } from "../../src/base/faults.ts";
import { seededRandom } from "../../src/base/random.ts";

const first = { eventType: "esim.assigned", sequence: 1, attempt: 1 };

describe("createFaults", () => {
  test("strikes once, and only what it names", () => {
    const faults = createFaults(seededRandom(1));
    faults.add({ kind: "drop_answer", call: "POST /esims" });
    expect(faults.onCall("GET /catalog/esim-variants")).toBeUndefined();
    expect(faults.onDelivery(first)).toBeUndefined();
    expect(faults.onCall("POST /esims")).toMatchObject({ kind: "drop_answer" });
    expect(faults.onCall("POST /esims")).toBeUndefined();
    expect(faults.list()).toEqual([]);
  });

  test("strikes as often as asked for, the oldest fault first, and lists what is left", () => {
    const faults = createFaults(seededRandom(1));
    faults.add({ kind: "error", times: 2 });
    faults.add({ kind: "hang", call: "POST /esims" });
    expect(faults.onCall("POST /esims")).toMatchObject({ kind: "error", status: 500, done: false });
    expect(faults.list()).toEqual([
      { kind: "error", times: 1, status: 500, done: false },
      { kind: "hang", times: 1, call: "POST /esims" },
    ]);
    expect(faults.onCall("POST /esims")).toMatchObject({ kind: "error" });
    expect(faults.onCall("POST /esims")).toMatchObject({ kind: "hang" });
  });

  test("strikes deliveries of one event type", () => {
    const faults = createFaults(seededRandom(1));
    faults.add({ kind: "cut", eventType: "esim.assigned" });
    expect(faults.onCall("POST /esims")).toBeUndefined();
    expect(faults.onDelivery({ ...first, eventType: "esim.enabled" })).toBeUndefined();
    expect(faults.onDelivery({ ...first, attempt: 3 })).toMatchObject({ kind: "cut" });
  });

  test("a fault that changes the body strikes first attempts only: all attempts have the same bytes", () => {
    const faults = createFaults(seededRandom(1));
    faults.add({ kind: "new_field" });
    expect(faults.onDelivery({ ...first, attempt: 2 })).toBeUndefined();
    expect(faults.onDelivery(first)).toMatchObject({ kind: "new_field" });
  });

  test("with a probability, a seed strikes the same attempts again, in any order", () => {
    const sequences = Array.from({ length: 400 }, (_, index) => index + 1);
    const struck = (seed: number, order: number[]) => {
      const faults = createFaults(seededRandom(seed));
      faults.add({ kind: "cut", probability: 0.25 });
      return order
        .filter((sequence) => faults.onDelivery({ ...first, sequence }) !== undefined)
        .sort((a, b) => a - b);
    };
    const once = struck(7, sequences);
    expect(once.length).toBeGreaterThan(60);
    expect(once.length).toBeLessThan(140);
    expect(struck(7, sequences.toReversed())).toEqual(once);
    expect(struck(8, sequences)).not.toEqual(once);
  });

  test("clear removes all", () => {
    const faults = createFaults(seededRandom(1));
    faults.add({ kind: "rate_limit", probability: 1 });
    expect(faults.onCall("GET /management/client")).toMatchObject({ kind: "rate_limit" });
    expect(faults.list()).toHaveLength(1);
    faults.clear();
    expect(faults.onCall("GET /management/client")).toBeUndefined();
  });

  test.each([
    [{ kind: "drop_anser" }, 'There is no fault of kind "drop_anser". Did you mean "drop_answer"?'],
    [undefined, "There is no fault of kind undefined."],
    [{ kind: "cut", call: "POST /esims" }, 'The fault "cut" cannot be right: Unrecognized key: "call"'],
    [{ kind: "error", status: 200 }, 'The fault "error" cannot be right: "status": '],
    [{ kind: "hang", call: "/esims" }, 'expected a method and a path, such as "POST /esims"'],
    [{ kind: "hang", times: 0 }, '"times": '],
  ])("refuses %j", (fault, message) => {
    const faults = createFaults(seededRandom(1));
    expect(() => faults.add(fault as never)).toThrow(message);
    expect(faults.list()).toEqual([]);
  });
});
