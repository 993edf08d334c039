import { describe, expect, test } from "vitest";
import { changeLifecycle } from "../../src/lifecycle/lifecycle.ts";
import { allocateNumber, type NewNumber, newNumberSchema } from "../../src/number/allocate-number.ts";
import { createPortIn } from "../../src/number/create-port-in.ts";
import { customerInfoSchema, numberRecord, numbersOf } from "../../src/number/number.ts";
import { partner, refusal } from "../partner.ts";

const address = { street: "Damrak", city: "Amsterdam", postalCode: "1012", countryCode: "NL" };
const customer = { firstName: "Ada", lastName: "Smit", address };

function ordered() {
  const { service, order, events } = partner();
  const esim = order();
  events();
  const allocate = (more: Partial<NewNumber> = {}) =>
    allocateNumber(
      service,
      newNumberSchema.parse({
        esimReference: esim.esimReference,
        countryCode: "NL",
        customerInfo: customer,
        ...more,
      }),
    );
  return { service, esim, events, allocate };
}

describe("allocateNumber", () => {
  test("assigns a primary mobile number unless told otherwise, and emits nothing", () => {
    const { service, esim, events, allocate } = ordered();
    const now = new Date(service.clock.now()).toISOString();
    expect(numberRecord(allocate())).toEqual({
      assignmentId: 1,
      profileReference: esim.profileReference,
      esimReference: esim.esimReference,
      iccid: esim.iccid,
      msisdn: expect.stringMatching(/^316\d{8}$/),
      countryCode: "NL",
      type: "mobile",
      status: "active",
      isPrimary: true,
      customerInfo: customer,
      createdAt: now,
      updatedAt: now,
    });
    expect(events()).toEqual([]);
  });

  test.each([
    { countryCode: "BE", type: "mobile", form: /^324\d{8}$/ },
    { countryCode: "BE", type: "local", form: /^32[2-9]\d{8}$/ },
    { countryCode: "NL", type: "tollfree", form: /^31800\d{6}$/ },
    { countryCode: "US", type: "mobile", form: /^1[2-9]\d{9}$/ },
    { countryCode: "PT", type: "mobile", form: /^351[2-9]\d{8}$/ },
    { countryCode: "GLOBAL", type: "mobile", form: /^883[2-9]\d{8}$/ },
  ] as const)("makes up a $type number of $countryCode", ({ countryCode, type, form }) => {
    expect(ordered().allocate({ countryCode, type })).toMatchObject({
      countryCode,
      type,
      msisdn: expect.stringMatching(form),
    });
  });

  test("refuses a country that does not exist", () => {
    expect(() => ordered().allocate({ countryCode: "XX" })).toThrow(refusal("invalid", "no country XX"));
  });

  test("leaves the profile one primary number: the latest", () => {
    const { service, esim, allocate } = ordered();
    allocate();
    allocate();
    allocate({ isPrimary: false });
    expect(numbersOf(service, esim.esimReference).map(({ isPrimary }) => isPrimary)).toEqual([0, 1, 0]);
  });

  test("asks for the house number while a Dutch number is being ported into the eSIM", () => {
    const { service, esim, allocate } = ordered();
    const details = { donorContractType: "prepaid" } as const;
    createPortIn(service, esim.esimReference, { msisdn: "31612345678", details });
    expect(() => allocate()).toThrow(refusal("invalid", "streetNumber"));
    const withNumber = { ...customer, address: { ...address, streetNumber: "1" } };
    expect(allocate({ customerInfo: withNumber }).status).toBe("active");
  });

  test("does not ask for it while a Belgian number is", () => {
    const { service, esim, allocate } = ordered();
    const details = { donorContractType: "prepaid" } as const;
    createPortIn(service, esim.esimReference, { msisdn: "32412345678", details });
    expect(allocate().status).toBe("active");
  });
});

describe("a number", () => {
  test("is suspended, reactivated and released with its eSIM", () => {
    const { service, esim, allocate } = ordered();
    allocate();
    const statuses = (["suspend", "reactivate", "terminate"] as const).map((operation) => {
      changeLifecycle(service, esim.esimReference, operation);
      return numbersOf(service, esim.esimReference).map(({ status, isPrimary }) => [status, isPrimary]);
    });
    expect(statuses).toEqual([[["suspended", 1]], [["active", 1]], [["released", 0]]]);
    expect(() => allocate()).toThrow(refusal("illegal_transition", "terminated"));
  });

  test("of a suspended eSIM is suspended from the start", () => {
    const { service, esim, allocate } = ordered();
    changeLifecycle(service, esim.esimReference, "suspend");
    expect(allocate().status).toBe("suspended");
    changeLifecycle(service, esim.esimReference, "reactivate");
    expect(numbersOf(service, esim.esimReference)[0]?.status).toBe("active");
  });
});

describe("the customer of a number", () => {
  test.each([
    ["no first name", { ...customer, firstName: undefined }],
    ["an empty last name", { ...customer, lastName: "" }],
    ["an address that is no e-mail address", { ...customer, email: "ada" }],
    ["no address", { ...customer, address: undefined }],
    ["a country of three letters", { ...customer, address: { ...address, countryCode: "NLD" } }],
    ["no city", { ...customer, address: { ...address, city: undefined } }],
  ])("refuses %s", (_, info) => {
    expect(customerInfoSchema.safeParse(info).success).toBe(false);
  });

  test("takes every field of the specification", () => {
    const full = {
      ...customer,
      companyName: "Smit",
      email: "ada@example.com",
      phone: "31201234567",
      address: { ...address, streetNumber: "1", streetNumberAddition: "a", streetLine2: "Yard", state: "NH" },
    };
    expect(customerInfoSchema.parse(full)).toEqual(full);
  });
});
