import { describe, expect, test } from "vitest";
import { changeLifecycle, endPackage, orderPackage, packagesOf } from "../../src/lifecycle/lifecycle.ts";
import { partner, refusal, typesOf } from "../partner.ts";

function ordered() {
  const { service, order, events } = partner();
  const { esimReference } = order();
  events();
  return { service, esim: esimReference, events };
}

describe("changeLifecycle", () => {
  test.each([
    ["suspend", "suspended"],
    ["terminate", "terminated"],
  ] as const)("%s ends the active packages first, each with an event", (operation, lifecycleStatus) => {
    const { service, esim, events } = ordered();
    const ended = orderPackage(service, esim);
    endPackage(service, ended.packageReference, "expired");
    const active = [orderPackage(service, esim, "PLAN-A"), orderPackage(service, esim, "PLAN-B")];
    events();
    expect(changeLifecycle(service, esim, operation).lifecycleStatus).toBe(lifecycleStatus);
    const emitted = events();
    expect(typesOf(emitted)).toEqual(["package.ended", "package.ended", `esim.lifecycle.${lifecycleStatus}`]);
    for (const [index, { packageReference, planReference }] of active.entries()) {
      expect(emitted[index]?.data).toMatchObject({
        packageReference,
        planReference,
        status: "ended",
        reason: "removed",
      });
    }
    expect(emitted[2]?.data).toMatchObject({ lifecycleStatus, previousLifecycleStatus: "active" });
  });

  test("reactivate makes a suspended eSIM active", () => {
    const { service, esim, events } = ordered();
    changeLifecycle(service, esim, "suspend");
    events();
    changeLifecycle(service, esim, "reactivate");
    expect(events()).toMatchObject([
      {
        type: "esim.lifecycle.activated",
        data: { lifecycleStatus: "active", previousLifecycleStatus: "suspended" },
      },
    ]);
  });

  test.each([
    { before: [], operation: "reactivate" },
    { before: ["suspend"], operation: "suspend" },
    { before: ["terminate"], operation: "reactivate" },
    { before: ["terminate"], operation: "suspend" },
    { before: ["suspend", "terminate"], operation: "terminate" },
  ] as const)("refuses $operation after $before", ({ before, operation }) => {
    const { service, esim, events } = ordered();
    for (const step of before) changeLifecycle(service, esim, step);
    events();
    expect(() => changeLifecycle(service, esim, operation)).toThrow(refusal("illegal_transition"));
    expect(events()).toEqual([]);
  });
});

describe("orderPackage", () => {
  test("activates the package at once", () => {
    const { service, esim, events } = ordered();
    const { packageReference } = orderPackage(service, esim, "PLAN-1");
    expect(events()).toMatchObject([
      { type: "package.created", data: { packageReference, planReference: "PLAN-1", status: "active" } },
      { type: "package.activated", data: { packageReference, planReference: "PLAN-1", status: "active" } },
    ]);
  });

  test("reactivates a suspended eSIM", () => {
    const { service, esim, events } = ordered();
    changeLifecycle(service, esim, "suspend");
    events();
    orderPackage(service, esim);
    expect(typesOf(events())).toEqual(["esim.lifecycle.activated", "package.created", "package.activated"]);
  });

  test("is refused for a terminated eSIM", () => {
    const { service, esim } = ordered();
    changeLifecycle(service, esim, "terminate");
    expect(() => orderPackage(service, esim)).toThrow(refusal("illegal_transition", "Order another eSIM"));
    expect(packagesOf(service, esim)).toEqual([]);
  });
});

describe("endPackage", () => {
  test("tells its reason, and is refused the second time", () => {
    const { service, esim, events } = ordered();
    const { packageReference } = orderPackage(service, esim);
    events();
    expect(endPackage(service, packageReference, "expired").status).toBe("ended");
    expect(events()).toMatchObject([
      { type: "package.ended", data: { packageReference, reason: "expired" } },
    ]);
    expect(() => endPackage(service, packageReference, "expired")).toThrow(refusal("illegal_transition"));
    expect(() => endPackage(service, "PKG0", "expired")).toThrow(refusal("not_found"));
  });
});
