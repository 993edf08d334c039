import { describe, expect, test } from "vitest";
import { findEsim } from "../../src/esim/esim.ts";
import { registerOnNetwork } from "../../src/esim/network.ts";
import { changeLifecycle } from "../../src/lifecycle/lifecycle.ts";
import { createPortIn } from "../../src/number/create-port-in.ts";
import type { NewPortIn } from "../../src/number/new-port-in.ts";
import { assignNumber, numbersOf } from "../../src/number/number.ts";
import { findPortIn, portInRecord, portInsOf } from "../../src/number/port-in.ts";
import {
  abandonPortIn,
  approvePortIn,
  cancelPortIn,
  completePortIn,
  confirmCancelPortIn,
  failPortIn,
  rejectPortIn,
  schedulePortIn,
  submitPortIn,
} from "../../src/number/port-in-steps.ts";
import { partner, refusal, typesOf } from "../partner.ts";

const details = { donorContractType: "prepaid" } as const;
const iccid = "8931040000000000000";

function ordered(esimVariant = "standard") {
  const { service, order, events } = partner();
  const esim = order({ esimVariant });
  events();
  const create = (order: { msisdn?: string; details?: unknown } = {}) =>
    createPortIn(service, esim.esimReference, { msisdn: "31612345678", details, ...order } as NewPortIn);
  return { service, esim, events, create, order };
}

function requested() {
  const { create, ...more } = ordered();
  return { ...more, create, reference: create().portInRequestReference };
}

describe("createPortIn", () => {
  test("registers a request; submitting it is a step of its own", () => {
    const { service, esim, events, create } = ordered();
    const now = new Date(service.clock.now()).toISOString();
    expect(portInRecord(create())).toEqual({
      portInRequestReference: expect.stringMatching(/^[0-9A-Z]{8}$/),
      profileReference: esim.profileReference,
      esimReference: esim.esimReference,
      msisdn: "31612345678",
      details,
      status: "requested",
      reason: null,
      scheduledDate: null,
      submittedAt: null,
      completedAt: null,
      abandoned: false,
      createdAt: now,
      updatedAt: now,
    });
    expect(events()).toEqual([]);
  });

  test.each(["31612345678", "32412345678"])("takes %s", (msisdn) => {
    expect(ordered().create({ msisdn }).msisdn).toBe(msisdn);
  });

  test.each([
    "+31612345678",
    "0612345678",
    "3161234567",
    "316123456789",
    "31201234567",
    "32212345678",
    "4915112345678",
    "",
  ])("refuses the number %j", (msisdn) => {
    expect(() => ordered().create({ msisdn })).toThrow(refusal("invalid", "msisdn"));
  });

  test.each([
    [undefined, "details"],
    [{}, "donorContractType"],
    [{ donorContractType: "flatrate" }, "donorContractType"],
    [{ ...details, donorIccid: "123" }, "donorIccid"],
    [{ ...details, donorAccountNumber: "" }, "donorAccountNumber"],
    [{ ...details, donorName: "KPN" }, "donorName"],
  ])("refuses the donor details %j", (given, field) => {
    expect(() => ordered().create({ details: given })).toThrow(refusal("invalid", field));
  });

  test.each([
    [{ donorContractType: "prepaid" }, "donorIccid"],
    [{ donorContractType: "postpaid" }, "donorAccountNumber"],
    [{ donorContractType: "prepaid", donorIccid: iccid, donorAccountNumber: "1" }, "either"],
  ])("refuses %j for the variant premium, whose provider asks for more", (given, message) => {
    expect(ordered().create({ details: given }).status).toBe("requested");
    expect(() => ordered("premium").create({ details: given })).toThrow(refusal("invalid", message));
  });

  test.each([
    { donorContractType: "prepaid", donorIccid: iccid },
    { donorContractType: "postpaid", donorAccountNumber: "K-1" },
  ])("takes %j for the variant premium", (given) => {
    expect(ordered("premium").create({ details: given }).status).toBe("requested");
  });

  test.each([
    ["requested", submitPortIn],
    ["approved", approvePortIn],
    [
      "scheduled",
      (...[service, reference]: Parameters<typeof approvePortIn>) =>
        schedulePortIn(service, reference, "2026-12-31"),
    ],
    ["cancelling", cancelPortIn],
  ] as const)("is refused while a request is %s", (status, step) => {
    const { service, create, reference } = requested();
    expect(step(service, reference).status).toBe(status);
    expect(() => create()).toThrow(refusal("port_in_not_possible", `${reference} is ${status}`));
  });

  test.each([
    ["rejected", (...args: Parameters<typeof approvePortIn>) => rejectPortIn(...args)],
    ["failed", (...args: Parameters<typeof approvePortIn>) => failPortIn(...args)],
    [
      "cancelled",
      (...args: Parameters<typeof approvePortIn>) => {
        cancelPortIn(...args);
        return confirmCancelPortIn(...args);
      },
    ],
  ] as const)("supersedes a request that was %s, which is marked abandoned", (status, end) => {
    const { service, esim, create, reference } = requested();
    expect(end(service, reference)).toMatchObject({ status, abandoned: 0 });
    const corrected = create();
    expect(portInsOf(service, esim.esimReference)).toMatchObject([
      { portInRequestReference: corrected.portInRequestReference, status: "requested", abandoned: 0 },
      { portInRequestReference: reference, status, abandoned: 1 },
    ]);
  });

  test("is refused once porting was abandoned", () => {
    const { service, create, reference } = requested();
    rejectPortIn(service, reference);
    abandonPortIn(service, reference);
    expect(() => create()).toThrow(refusal("port_in_not_possible", "abandoned"));
  });

  test("is refused once the subscription is activated", () => {
    const { service, esim, create } = ordered();
    registerOnNetwork(service, esim.esimReference, "NL");
    expect(() => create()).toThrow(refusal("port_in_not_possible", "activated"));
  });

  test("is refused once the number was ported, and for a terminated eSIM", () => {
    const { service, esim, create, reference } = requested();
    completePortIn(service, reference);
    expect(() => create()).toThrow(refusal("port_in_not_possible", "activated"));
    changeLifecycle(service, esim.esimReference, "terminate");
    expect(() => create()).toThrow(refusal("port_in_not_possible", "terminated"));
  });
});

describe("the steps of a port-in", () => {
  test("are told by events", () => {
    const { service, esim, events, reference } = requested();
    submitPortIn(service, reference);
    approvePortIn(service, reference);
    schedulePortIn(service, reference, "2026-12-31");
    service.pass(1000);
    completePortIn(service, reference);
    const { profileReference, esimReference, iccid } = esim;
    const both = {
      profileReference,
      esimReference,
      iccid,
      portInRequestReference: reference,
      msisdn: "31612345678",
    };
    const submittedAt = new Date(service.clock.now() - 1000).toISOString();
    const completedAt = new Date(service.clock.now()).toISOString();
    const open = { reason: null, submittedAt, completedAt: null };
    expect(events()).toEqual([
      { type: "port_in.submitted", data: { ...both, status: "requested", ...open } },
      { type: "port_in.approved", data: { ...both, status: "approved", ...open } },
      { type: "port_in.completed", data: { ...both, status: "completed", ...open, completedAt } },
    ]);
    expect(portInRecord(findPortIn(service, reference))).toMatchObject({
      status: "completed",
      scheduledDate: "2026-12-31",
      submittedAt,
      completedAt,
    });
  });

  test("pass those that were left out", () => {
    const { service, events, reference } = requested();
    completePortIn(service, reference);
    expect(typesOf(events())).toEqual(["port_in.submitted", "port_in.approved", "port_in.completed"]);
  });

  test("end with a reason when rejected or failed", () => {
    const first = requested();
    rejectPortIn(first.service, first.reference, { code: "wrong_account", message: "Unknown account" });
    const second = requested();
    failPortIn(second.service, second.reference);
    expect(first.events().at(-1)).toMatchObject({
      type: "port_in.rejected",
      data: { status: "rejected", reason: { code: "wrong_account", message: "Unknown account" } },
    });
    expect(second.events().at(-1)).toMatchObject({
      type: "port_in.failed",
      data: { status: "failed", reason: { code: "provider_error", message: null } },
    });
  });

  test("cancel a request once the provider confirms it", () => {
    const { service, events, reference } = requested();
    cancelPortIn(service, reference);
    expect(typesOf(events())).toEqual(["port_in.submitted"]);
    confirmCancelPortIn(service, reference);
    expect(events()).toMatchObject([{ type: "port_in.cancelled", data: { status: "cancelled" } }]);
  });

  test.each([
    ["submit twice", submitPortIn, submitPortIn],
    ["approve twice", approvePortIn, approvePortIn],
    ["confirm a cancellation that nobody asked for", submitPortIn, confirmCancelPortIn],
    ["complete what was rejected", rejectPortIn, completePortIn],
    ["cancel what was completed", completePortIn, cancelPortIn],
    ["abandon what is under way", submitPortIn, abandonPortIn],
    ["abandon what was completed", completePortIn, abandonPortIn],
  ] as const)("do not %s", (_, first, second) => {
    const { service, events, reference } = requested();
    first(service, reference);
    events();
    expect(() => second(service, reference)).toThrow(refusal("illegal_transition"));
    expect(events()).toEqual([]);
  });

  test.each([
    ["failed", failPortIn, /create a corrected one, or abandon porting/],
    ["rejected", rejectPortIn, /create a corrected one, or abandon porting/],
    ["completed", completePortIn, /this state is final/],
  ] as const)("say what to do after a request that is %s", (_, end, message) => {
    const { service, reference } = requested();
    end(service, reference);
    expect(() => approvePortIn(service, reference)).toThrow(refusal("illegal_transition", message));
  });

  test.each(["31-12-2026", "2026-02-30", ""])("do not schedule for %j", (date) => {
    const { service, reference } = requested();
    expect(() => schedulePortIn(service, reference, date)).toThrow(refusal("invalid", "2026-12-31"));
  });
});

describe("completing a port-in", () => {
  test("takes the place of the primary number from the one that the eSIM had", () => {
    const { service, esim, reference } = requested();
    const { esimReference } = esim;
    assignNumber(service, esim, {
      msisdn: "32412345678",
      countryCode: "BE",
      type: "mobile",
      isPrimary: true,
    });
    completePortIn(service, reference);
    expect(numbersOf(service, esimReference).map(({ isPrimary }) => isPrimary)).toEqual([0, 1]);
  });

  test("gives the eSIM the number as the primary one, and activates it", () => {
    const { service, esim, reference } = requested();
    registerOnNetwork(service, esim.esimReference, "NL");
    expect(findEsim(service, esim.esimReference).activatedAt).toBeNull();
    completePortIn(service, reference);
    expect(findEsim(service, esim.esimReference).activatedAt).toBe(service.clock.now());
    expect(numbersOf(service, esim.esimReference)).toMatchObject([
      { msisdn: "31612345678", countryCode: "NL", type: "mobile", status: "active", isPrimary: 1 },
    ]);
  });

  test("takes the number from the eSIM that had it", () => {
    const { service, esim, reference, order } = requested();
    completePortIn(service, reference);
    const second = order().esimReference;
    const again = createPortIn(service, second, { msisdn: "31612345678", details });
    completePortIn(service, again.portInRequestReference);
    expect(numbersOf(service, esim.esimReference)[0]).toMatchObject({ status: "released", isPrimary: 0 });
    expect(numbersOf(service, second)[0]).toMatchObject({ status: "active", isPrimary: 1 });
  });

  test("is refused for an eSIM that was terminated meanwhile; the port-in can fail", () => {
    const { service, esim, reference } = requested();
    changeLifecycle(service, esim.esimReference, "terminate");
    expect(() => completePortIn(service, reference)).toThrow(refusal("illegal_transition", "terminated"));
    expect(findPortIn(service, reference)).toMatchObject({ status: "requested", submittedAt: null });
    expect(failPortIn(service, reference).status).toBe("failed");
  });
});

test("abandoning a port-in activates an eSIM that has been on a network", () => {
  const { service, esim, reference } = requested();
  registerOnNetwork(service, esim.esimReference, "NL");
  rejectPortIn(service, reference);
  expect(findEsim(service, esim.esimReference).activatedAt).toBeNull();
  abandonPortIn(service, reference);
  expect(findEsim(service, esim.esimReference).activatedAt).toBe(service.clock.now());
});
