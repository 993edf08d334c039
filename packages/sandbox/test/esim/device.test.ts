import { describe, expect, test } from "vitest";
import {
  deleteEsim,
  disableEsim,
  downloadEsim,
  enableEsim,
  faultEsim,
  installEsim,
} from "../../src/esim/device.ts";
import { findEsim } from "../../src/esim/esim.ts";
import { partner, refusal, typesOf } from "../partner.ts";

function ordered() {
  const { service, order, events } = partner();
  const { profileReference, esimReference, iccid } = order();
  events();
  return { service, esim: esimReference, events, references: { profileReference, esimReference, iccid } };
}

describe("a profile on a device", () => {
  test("is downloaded, installed, enabled, disabled and deleted, each with the eUICC that has it", () => {
    const { service, esim, events, references } = ordered();
    const eid = "89049032000000000000000000000001";
    downloadEsim(service, esim, eid);
    for (const step of [installEsim, enableEsim, disableEsim, enableEsim, deleteEsim]) step(service, esim);
    const types = ["downloaded", "installed", "enabled", "disabled", "enabled", "deleted"];
    expect(events()).toEqual(types.map((type) => ({ type: `esim.${type}`, data: { ...references, eid } })));
  });

  test("passes the steps that were left out", () => {
    const { service, esim, events } = ordered();
    expect(enableEsim(service, esim).profileState).toBe("enabled");
    expect(typesOf(events())).toEqual(["esim.downloaded", "esim.installed", "esim.enabled"]);
  });

  test.each([
    ["deleted before it is there", deleteEsim],
    ["disabled before it is enabled", disableEsim],
  ])("cannot be %s", (_, step) => {
    const { service, esim, events } = ordered();
    expect(() => step(service, esim)).toThrow(
      refusal("illegal_transition", /The profile is released.*Possible: download, install/),
    );
    expect(events()).toEqual([]);
  });

  test("is gone once it is deleted", () => {
    const { service, esim } = ordered();
    installEsim(service, esim);
    deleteEsim(service, esim);
    expect(() => installEsim(service, esim)).toThrow(refusal("illegal_transition", /this state is final/));
  });
});

describe("a fault on a device", () => {
  test("tells the reason and the provider's words, and is superseded by a later installation", () => {
    const { service, esim, events, references } = ordered();
    faultEsim(service, esim, { reason: "download_failed", detail: { code: "8.1.1" } });
    faultEsim(service, esim, { reason: "a_new_reason" });
    expect(events()).toEqual([
      {
        type: "esim.faulted",
        data: { ...references, reason: "download_failed", detail: { code: "8.1.1" } },
      },
      { type: "esim.faulted", data: { ...references, reason: "a_new_reason" } },
    ]);
    expect(installEsim(service, esim).profileState).toBe("installed");
  });

  test("names the eUICC once the profile was downloaded", () => {
    const { service, esim, events } = ordered();
    const { eid } = downloadEsim(service, esim);
    faultEsim(service, esim, { reason: "install_interrupted" });
    expect(events().at(-1)?.data).toMatchObject({ eid, reason: "install_interrupted" });
  });

  test("can say that an installed profile is there already", () => {
    const { service, esim } = ordered();
    installEsim(service, esim);
    expect(faultEsim(service, esim, { reason: "already_installed" }).profileState).toBe("installed");
  });

  test("with reason download_order_expired ends the order", () => {
    const { service, esim, events } = ordered();
    faultEsim(service, esim, { reason: "download_order_expired" });
    expect(typesOf(events())).toEqual(["esim.faulted"]);
    for (const step of [downloadEsim, installEsim, enableEsim]) {
      expect(() => step(service, esim)).toThrow(refusal("illegal_transition", /expired/));
    }
    expect(findEsim(service, esim).lifecycleStatus).toBe("active");
  });

  test("cannot expire the order of a profile that is installed", () => {
    const { service, esim } = ordered();
    installEsim(service, esim);
    expect(() => faultEsim(service, esim, { reason: "download_order_expired" })).toThrow(
      refusal("illegal_transition", /"download_order_expired" is not possible then\. Possible: .*fault/),
    );
  });

  test("needs a reason", () => {
    const { service, esim } = ordered();
    expect(() => faultEsim(service, esim, { reason: "" })).toThrow(refusal("invalid", "download_failed"));
  });
});
