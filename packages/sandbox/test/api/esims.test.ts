import { describe, expect, test } from "vitest";
import { setStock } from "../../src/account/variants.ts";
import { registerOnNetwork } from "../../src/esim/network.ts";
import { portInsOf } from "../../src/number/port-in.ts";
import { rejectPortIn } from "../../src/number/port-in-steps.ts";
import { type GivenApi, givenApi } from "./given-api.ts";

const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const portIn = { msisdn: "31612345678", details: { donorContractType: "prepaid" } };
const customerInfo = {
  firstName: "Ada",
  lastName: "Smit",
  address: { street: "Damrak", city: "Amsterdam", postalCode: "1012", countryCode: "NL" },
};

interface References {
  readonly profileReference: string;
  readonly esimReference: string;
}

async function dataOf<Data = References>(answer: Promise<Response>): Promise<Data> {
  return ((await (await answer).json()) as { data: Data }).data;
}

/** An API, and an eSIM that was ordered. */
async function ordered(api: GivenApi = givenApi()) {
  const esim = await dataOf(api.call("POST /esims", {}));
  return { ...api, esim, at: `/profiles/${esim.profileReference}/esims/${esim.esimReference}` };
}

async function problem(answer: Response) {
  expect(answer.headers.get("content-type")).toBe("application/problem+json");
  const body = (await answer.json()) as { detail: string };
  expect(body).toEqual({
    type: "about:blank",
    title: expect.any(String),
    status: answer.status,
    detail: expect.any(String),
  });
  return [answer.status, body.detail];
}

describe("POST /esims", () => {
  test("answers 201 with the eSIM, and emits that it is ready", async () => {
    const { call, service } = givenApi();
    const answer = await call("POST /esims", { externalProfileId: "user-1" });
    expect(answer.status).toBe(201);
    expect(await answer.json()).toEqual({
      data: {
        profileReference: expect.stringMatching(/^\d{16}$/),
        esimReference: expect.stringMatching(/^\d{18}$/),
        iccid: expect.stringMatching(/^\d{19}$/),
        esimVariant: "standard",
        externalProfileId: "user-1",
        lifecycleStatus: "active",
        createdAt: time,
      },
    });
    expect(service.db.all("select eventType from events")).toEqual([{ eventType: "esim.assigned" }]);
  });

  test("answers with the port-in that the order brought", async () => {
    const { call } = givenApi();
    expect(await dataOf(call("POST /esims", { esimVariant: "standard", portIn }))).toMatchObject({
      portIn: {
        ...portIn,
        status: "requested",
        portInRequestReference: expect.stringMatching(/^[0-9A-Z]{8}$/),
      },
    });
  });

  test.each([
    [{ esimVariant: "gold" }, "gold"],
    [{ esimVariant: 1 }, "esimVariant"],
    [{ externalProfileId: "" }, "externalProfileId"],
    [{ externalProfileId: "x".repeat(256) }, "externalProfileId"],
    [{ portIn: { ...portIn, msisdn: "0612345678" } }, "portIn.msisdn"],
    [{ portIn: { ...portIn, details: {} } }, "portIn.details.donorContractType"],
    [{ esimVariant: "premium", portIn }, "details.donorIccid"],
    [[], "object"],
  ])("answers 400 to %j, and says what is wrong", async (body, wrong) => {
    const { call, service } = givenApi();
    const [status, detail] = await problem(await call("POST /esims", body));
    expect([status, detail]).toEqual([400, expect.stringContaining(wrong)]);
    expect(service.db.all("select * from esims")).toEqual([]);
  });

  test("answers 409 with a problem for an externalProfileId that is taken, however other errors look", async () => {
    const { call } = givenApi({ unstatedErrorBody: "empty" });
    const { profileReference } = await dataOf(call("POST /esims", { externalProfileId: "user-1" }));
    const answer = await call("POST /esims", { externalProfileId: "user-1" });
    expect(answer.headers.get("retry-after")).toBeNull();
    expect(await problem(answer)).toEqual([
      409,
      `The externalProfileId "user-1" of this order already belongs to your profile ${profileReference}. Use that profile, or order with another externalProfileId.`,
    ]);
  });

  test("answers 409 when the stock is empty", async () => {
    const { call, service, clientId } = givenApi();
    setStock(service, clientId, "premium", 0);
    expect(await problem(await call("POST /esims", { esimVariant: "premium" }))).toEqual([
      409,
      expect.stringContaining("premium"),
    ]);
  });

  test.each(["409", "403", "422"] as const)(
    "answers %s above maxProfiles, by the switch",
    async (maxProfilesStatus) => {
      const { call, service } = givenApi({ maxProfilesStatus });
      service.db.run("update clients set maxProfiles = 0");
      expect((await call("POST /esims", {})).status).toBe(Number(maxProfilesStatus));
    },
  );

  test("orders once for one idempotency key", async () => {
    const { call, service } = givenApi();
    const key = { "x-idempotency-key": "order-1" };
    const first = await dataOf(call("POST /esims", {}, key));
    expect(await dataOf(call("POST /esims", {}, key))).toEqual(first);
    expect(service.db.all("select * from esims")).toHaveLength(1);
    expect(service.db.all("select * from events")).toHaveLength(1);
  });
});

describe("PATCH …/lifecycle", () => {
  test.each([
    ["suspend", "suspended"],
    ["terminate", "terminated"],
  ])("%s answers 200 with the eSIM, which is %s", async (operation, lifecycleStatus) => {
    const { call, esim, at } = await ordered();
    const answer = await call(`PATCH ${at}/lifecycle`, { operation });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({ data: { ...esim, lifecycleStatus } });
  });

  test("takes a suspended eSIM back", async () => {
    const { call, at } = await ordered();
    await call(`PATCH ${at}/lifecycle`, { operation: "suspend" });
    expect(await dataOf(call(`PATCH ${at}/lifecycle`, { operation: "reactivate" }))).toMatchObject({
      lifecycleStatus: "active",
    });
  });

  test.each([{}, { operation: "pause" }, { operation: null }])("answers 400 to %j", async (body) => {
    const { call, at } = await ordered();
    expect((await call(`PATCH ${at}/lifecycle`, body)).status).toBe(400);
  });

  test.each(["409", "400", "422"] as const)(
    "answers %s to an illegal move, by the switch",
    async (illegalTransition) => {
      const { call, at } = await ordered(givenApi({ illegalTransition }));
      const [status, detail] = await problem(
        await call(`PATCH ${at}/lifecycle`, { operation: "reactivate" }),
      );
      expect([status, detail]).toEqual([
        Number(illegalTransition),
        'The eSIM is active, and "reactivate" is not possible then. Possible: suspend, terminate.',
      ]);
    },
  );
});

describe("POST …/port-ins", () => {
  test("answers 201 with the request", async () => {
    const { call, esim, at } = await ordered();
    const answer = await call(`POST ${at}/port-ins`, portIn);
    expect(answer.status).toBe(201);
    expect(await answer.json()).toEqual({
      data: {
        portInRequestReference: expect.stringMatching(/^[0-9A-Z]{8}$/),
        profileReference: esim.profileReference,
        esimReference: esim.esimReference,
        ...portIn,
        status: "requested",
        reason: null,
        scheduledDate: null,
        submittedAt: null,
        completedAt: null,
        abandoned: false,
        createdAt: time,
        updatedAt: time,
      },
    });
  });

  test.each([
    [{ details: portIn.details }, "msisdn"],
    [{ ...portIn, msisdn: "+31612345678" }, "msisdn"],
    [{ ...portIn, msisdn: 31612345678 }, "msisdn"],
    [{ msisdn: portIn.msisdn }, "details"],
    [{ ...portIn, details: { ...portIn.details, donorName: "KPN" } }, "donorName"],
    [{ ...portIn, details: { donorContractType: "flatrate" } }, "donorContractType"],
  ])("answers 400 with a problem to %j, however other errors look", async (body, wrong) => {
    const { call, at } = await ordered(givenApi({ unstatedErrorBody: "html" }));
    expect(await problem(await call(`POST ${at}/port-ins`, body))).toEqual([
      400,
      expect.stringContaining(wrong),
    ]);
  });

  test("answers 409 with a problem while a request is live, and 201 once it was rejected", async () => {
    const { call, at, service, esim } = await ordered(givenApi({ unstatedErrorBody: "html" }));
    await call(`POST ${at}/port-ins`, portIn);
    expect(await problem(await call(`POST ${at}/port-ins`, portIn))).toEqual([
      409,
      expect.stringContaining("requested"),
    ]);
    const [live] = portInsOf(service, esim.esimReference);
    rejectPortIn(service, live?.portInRequestReference ?? "");
    expect((await call(`POST ${at}/port-ins`, portIn)).status).toBe(201);
  });

  test("answers 409 with a problem once the subscription is activated", async () => {
    const { call, at, service, esim } = await ordered();
    registerOnNetwork(service, esim.esimReference, "NL");
    expect(await problem(await call(`POST ${at}/port-ins`, portIn))).toEqual([
      409,
      expect.stringContaining("activated"),
    ]);
  });
});

describe("POST /number/…/allocate", () => {
  test("answers 200 with the assignment", async () => {
    const { call, esim } = await ordered();
    const { profileReference, esimReference } = esim;
    const body = { esimReference, countryCode: "be", customerInfo };
    const answer = await call(`POST /number/${profileReference}/allocate`, body);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({
      data: {
        assignmentId: expect.any(Number),
        profileReference,
        esimReference,
        iccid: expect.any(String),
        msisdn: expect.stringMatching(/^324\d{8}$/),
        countryCode: "BE",
        type: "mobile",
        status: "active",
        isPrimary: true,
        customerInfo,
        createdAt: time,
        updatedAt: time,
      },
    });
  });

  test.each([
    [{ countryCode: "N" }, "countryCode"],
    [{ countryCode: "GLOBALLY" }, "countryCode"],
    [{ countryCode: "N1" }, "countryCode"],
    [{ countryCode: "XX" }, "countryCode"],
    [{ type: "fax" }, "type"],
    [{ isPrimary: "yes" }, "isPrimary"],
    [{ customerInfo: undefined }, "customerInfo"],
    [{ customerInfo: { ...customerInfo, address: undefined } }, "customerInfo.address"],
    [{ customerInfo: { ...customerInfo, email: "ada" } }, "customerInfo.email"],
    [{ esimReference: undefined }, "esimReference"],
  ])("answers 400 to %j", async (wrong, field) => {
    const { call, esim } = await ordered();
    const { profileReference, esimReference } = esim;
    const body = { esimReference, countryCode: "NL", customerInfo, ...wrong };
    expect(await problem(await call(`POST /number/${profileReference}/allocate`, body))).toEqual([
      400,
      expect.stringContaining(field),
    ]);
  });
});

describe("an eSIM", () => {
  const operations = [
    ["lifecycle", ({ at }: { at: string }) => [`PATCH ${at}/lifecycle`, { operation: "suspend" }]],
    ["port-ins", ({ at }: { at: string }) => [`POST ${at}/port-ins`, portIn]],
    [
      "allocate",
      ({ esim: { profileReference, esimReference } }: { esim: References }) => [
        `POST /number/${profileReference}/allocate`,
        { esimReference, countryCode: "NL", customerInfo },
      ],
    ],
  ] as const;

  test.each(operations)("of another client is out of reach: %s answers 403", async (_, callOf) => {
    const given = await ordered();
    const [call, body] = callOf(given);
    const answer = await given.callAsOther(call as string, body);
    expect(answer.status).toBe(403);
    expect((await given.call(call as string, body)).ok).toBe(true);
  });

  test.each(operations)("that nobody has is not found: %s answers 404", async (_, callOf) => {
    const given = await ordered();
    const unknown = { profileReference: given.esim.profileReference, esimReference: "000000000000000000" };
    const at = `/profiles/${unknown.profileReference}/esims/${unknown.esimReference}`;
    const [call, body] = callOf({ at, esim: unknown });
    expect((await given.call(call as string, body)).status).toBe(404);
  });

  test.each(operations)("is not found below another profile: %s answers 404", async (_, callOf) => {
    const given = await ordered();
    const { profileReference } = await dataOf(given.call("POST /esims", {}));
    const esim = { ...given.esim, profileReference };
    const [call, body] = callOf({ at: `/profiles/${profileReference}/esims/${esim.esimReference}`, esim });
    expect((await given.call(call as string, body)).status).toBe(404);
  });

  test.each(operations)("needs a token: %s answers 401", async (_, callOf) => {
    const given = await ordered();
    const [call, body] = callOf(given);
    const answer = await given.call(call as string, body, { authorization: "Bearer nonsense" });
    expect(answer.status).toBe(401);
  });

  test("that is terminated gets neither a number nor a port-in", async () => {
    const given = await ordered();
    await given.call(`PATCH ${given.at}/lifecycle`, { operation: "terminate" });
    for (const [, callOf] of operations) {
      const [call, body] = callOf(given);
      expect((await given.call(call as string, body)).status).toBe(409);
    }
  });
});

test("the document describes each record once, and refers to it", async () => {
  const { call } = givenApi();
  const document = (await (await call("GET /openapi.json")).json()) as {
    components: { schemas: Record<string, { type: string; properties: Record<string, object> }> };
  };
  const { PortIn, EsimOrder, OrderedEsim, NumberAssignment } = document.components.schemas;
  expect(PortIn?.type).toBe("object");
  const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });
  expect(EsimOrder?.properties["portIn"]).toEqual(reference("NewPortIn"));
  expect(NumberAssignment?.properties["customerInfo"]).toEqual(reference("CustomerInfo"));
  expect(JSON.stringify(OrderedEsim)).toContain(JSON.stringify(reference("PortIn")));
});
