import { esimCatalog } from "@esim-webhooks/core";
import { expect, test } from "vitest";
import * as page from "../../../examples/testing/port-in.ts";
import { updateBalance } from "../src/esim/balance.ts";
import * as device from "../src/esim/device.ts";
import { registerOnNetwork } from "../src/esim/network.ts";
import { changeLifecycle, orderPackage } from "../src/lifecycle/lifecycle.ts";
import { createPortIn } from "../src/number/create-port-in.ts";
import * as steps from "../src/number/port-in-steps.ts";
import { eventTypes } from "../src/webhook/event-types.ts";
import { portIn } from "./operations.ts";
import { type Partner, partner, typesOf } from "./partner.ts";

/** Causes an event of every type that the sandbox has a cause for, in each form. */
function causeAll({ service, order }: Partner): void {
  const { esimReference: esim } = order();
  device.faultEsim(service, esim, { reason: "download_failed" });
  device.faultEsim(service, esim, { reason: "a new one", detail: { code: "8.1.1", causes: [null] } });
  registerOnNetwork(service, esim, "901-05"); // downloads, installs and enables; no country
  registerOnNetwork(service, esim, "NL");
  device.disableEsim(service, esim);
  device.deleteEsim(service, esim);
  updateBalance(service, esim, { updateType: "credit", amount: 5, detail: "a present" });
  updateBalance(service, esim, { updateType: "debit", amount: 5, source: "provider", reason: "new" });
  orderPackage(service, esim);
  changeLifecycle(service, esim, "suspend");
  changeLifecycle(service, esim, "reactivate");
  changeLifecycle(service, esim, "terminate");
  const expired = order().esimReference;
  device.faultEsim(service, expired, { reason: "download_order_expired", detail: "8.1.1/3.8" });

  const { esimReference } = order();
  const request = () => createPortIn(service, esimReference, portIn).portInRequestReference;
  steps.rejectPortIn(service, request());
  steps.failPortIn(service, request(), { code: "wrong_pin", message: "The PIN is another one." });
  const cancelled = request();
  steps.cancelPortIn(service, cancelled);
  steps.confirmCancelPortIn(service, cancelled);
  const completed = request();
  steps.approvePortIn(service, completed);
  steps.completePortIn(service, completed);
}

test("every event that the sandbox sends fits the schemas of core, and those that docs/events.md shows", () => {
  const given = partner();
  causeAll(given);
  const bodies = given.bodies();
  const types = typesOf(bodies.map((body) => JSON.parse(body)));
  const withoutCause = ["package.usage", "package.exhausted", "package.renewed"];
  expect([...new Set([...types, ...withoutCause])].sort()).toEqual(eventTypes(given.service).sort());
  for (const catalog of [esimCatalog, page.catalog]) {
    const known: readonly string[] = catalog.types;
    const kinds = bodies.map((body) => catalog.parse("msg_1", Buffer.from(body)).kind);
    expect(kinds).toEqual(types.map((type) => (known.includes(type) ? "known" : "unknown")));
  }
});
