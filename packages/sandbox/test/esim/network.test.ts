import { describe, expect, test } from "vitest";
import { enableEsim } from "../../src/esim/device.ts";
import { registerOnNetwork } from "../../src/esim/network.ts";
import { changeLifecycle } from "../../src/lifecycle/lifecycle.ts";
import { partner, refusal, typesOf } from "../partner.ts";

function enabled() {
  const { service, order, events } = partner();
  const { esimReference } = order();
  enableEsim(service, esimReference);
  events();
  return {
    service,
    esim: esimReference,
    events,
    register: (where: string) => registerOnNetwork(service, esimReference, where),
  };
}

describe("registerOnNetwork", () => {
  test("tells where the eSIM is, and from the second time on where it was", () => {
    const { register, events } = enabled();
    register("NL");
    register("206-01");
    const [first, second] = events();
    expect(first?.type).toBe("esim.mccswitch");
    expect(Object.keys(first?.data ?? {})).toEqual([
      "profileReference",
      "esimReference",
      "iccid",
      "newCountry",
      "newMcc",
      "newMnc",
    ]);
    expect(first?.data).toMatchObject({ newCountry: "NL", newMcc: "204", newMnc: "08" });
    expect(second?.data).toMatchObject({
      previousCountry: "NL",
      previousMcc: "204",
      previousMnc: "08",
      newCountry: "BE",
      newMcc: "206",
      newMnc: "01",
    });
  });

  test("emits nothing on the same network, and an event on another one of the same country", () => {
    const { register, events } = enabled();
    register("204-08");
    register("NL");
    expect(events()).toHaveLength(1);
    register("204-04");
    expect(events()[0]?.data).toMatchObject({ previousMnc: "08", newMnc: "04", newCountry: "NL" });
  });

  test("knows no country of a satellite network, neither on the way in nor out", () => {
    const { register, events } = enabled();
    register("901-05");
    register("310-260");
    const [into, outOf] = events();
    expect(into?.data).toMatchObject({ newMcc: "901", newMnc: "05" });
    expect(into?.data).not.toHaveProperty("newCountry");
    expect(outOf?.data).toMatchObject({ previousMcc: "901", newCountry: "US", newMnc: "260" });
    expect(outOf?.data).not.toHaveProperty("previousCountry");
  });

  test.each(["XX", "Netherlands", "204", "204-8", "204-0800", "999-01", "123-45", ""])(
    "refuses %j",
    (where) => {
      const { register, events } = enabled();
      expect(() => register(where)).toThrow(refusal("invalid"));
      expect(events()).toEqual([]);
    },
  );

  test("enables a profile that is not", () => {
    const { service, order, events } = partner();
    const { esimReference } = order();
    registerOnNetwork(service, esimReference, "NL");
    expect(typesOf(events())).toEqual([
      "esim.assigned",
      "esim.downloaded",
      "esim.installed",
      "esim.enabled",
      "esim.mccswitch",
    ]);
  });

  test("is refused while no network serves the eSIM", () => {
    const { service, esim, register } = enabled();
    changeLifecycle(service, esim, "suspend");
    expect(() => register("NL")).toThrow(refusal("illegal_transition", "Reactivate it first"));
    changeLifecycle(service, esim, "terminate");
    expect(() => register("NL")).toThrow(refusal("illegal_transition", "Order another one"));
  });

  test("activates the subscription the first time", () => {
    const { service, register } = enabled();
    expect(register("NL").activatedAt).toBe(service.clock.now());
    const first = service.clock.now();
    service.pass(1000);
    expect(register("BE").activatedAt).toBe(first);
  });
});
