import { describe, expect, it } from "vitest";
import { compareTypes } from "../../src/ensure/compare-types.ts";

const offered = ["esim.enabled", "esim.disabled", "esim.faulted", "package.usage"];

function compare(
  subscribed: readonly string[],
  names: readonly string[],
  { areHandlers = true, known = ["esim.enabled", "esim.disabled", "esim.faulted", "esim.old"] } = {},
) {
  return compareTypes({ subscribed, wanted: { names, areHandlers, known }, offered }).map(
    ({ code, about }) => [code, ...about],
  );
}

describe("comparing an endpoint's event types with the handlers", () => {
  it("finds nothing when each subscribed type has a handler, and each handler a subscribed type", () => {
    expect(compare(["esim.enabled", "esim.disabled"], ["esim.enabled", "esim.disabled"])).toEqual([]);
    expect(compare(["esim.enabled", "esim.disabled", "esim.faulted"], ["esim.*"])).toEqual([]);
    expect(compare(offered, ["*"])).toEqual([]);
  });

  it("finds a handler whose type is not subscribed, by its name, its family and the star", () => {
    expect(compare(["esim.enabled"], ["esim.enabled", "esim.faulted"])).toEqual([
      ["not_subscribed", "esim.faulted"],
    ]);
    expect(compare(["esim.enabled"], ["esim.*"])).toEqual([
      ["not_subscribed", "esim.disabled", "esim.faulted"],
    ]);
    expect(compare(["esim.enabled", "esim.disabled", "esim.faulted"], ["*"])).toEqual([
      ["not_subscribed", "package.usage"],
    ]);
  });

  it("finds a subscribed type without a handler, and says when the catalog does not have it either", () => {
    expect(compare(["esim.enabled", "esim.faulted"], ["esim.enabled"])).toEqual([
      ["no_handler", "esim.faulted"],
    ]);
    expect(compare(["esim.enabled", "package.usage"], ["esim.enabled"])).toEqual([
      ["not_in_catalog", "package.usage"],
    ]);
  });

  it("finds a retired type, which needs no handler", () => {
    expect(compare(["esim.enabled", "esim.old"], ["esim.enabled"])).toEqual([["retired", "esim.old"]]);
    expect(compare(["esim.enabled", "esim.old"], ["esim.enabled", "esim.old"])).toEqual([
      ["retired", "esim.old"],
    ]);
  });

  it("finds a handler of a type, or of a family, that the service does not offer", () => {
    expect(compare(["esim.enabled"], ["esim.enabled", "esim.old", "port_in.*"])).toEqual([
      ["not_offered", "esim.old", "port_in.*"],
    ]);
  });

  it("compares with a list of event types in the same way", () => {
    const asList = { areHandlers: false };
    expect(compare(["esim.enabled", "package.usage"], ["esim.enabled", "esim.faulted"], asList)).toEqual([
      ["not_subscribed", "esim.faulted"],
      ["not_wanted", "package.usage"],
    ]);
    expect(compare(["esim.enabled"], ["esim.fualted"], asList)).toEqual([
      ["not_offered", "esim.fualted"],
      ["not_wanted", "esim.enabled"],
    ]);
  });

  it("says in plain words what is wrong, and what to do", () => {
    const [finding] = compareTypes({
      subscribed: ["esim.enabled"],
      wanted: { names: ["esim.*"], areHandlers: true, known: [] },
      offered,
    });
    expect(finding?.problem).toBe(
      "The endpoint is not subscribed to esim.disabled and esim.faulted, which handlers take: they never run for it.",
    );
    expect(finding?.remedy).toMatch(/^The API cannot change an endpoint\. Replace it/);
  });
});
