import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { describe, expect, it } from "vitest";
import type { SwitchSettings } from "../../src/base/switches.ts";
import { emitEvent } from "../../src/webhook/emit.ts";
import { endpoint, type GivenApi, givenApi } from "./given-api.ts";

interface Document extends Record<string, unknown> {
  readonly openapi: string;
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { responses: Readonly<Record<string, { content?: object }>> }>>>
  >;
}

async function documentOf({ api }: GivenApi): Promise<Document> {
  const answer = await api.request("/api/v3/openapi.json");
  expect(answer.status).toBe(200);
  return (await answer.json()) as Document;
}

it.each<SwitchSettings>([
  {},
  { unstatedErrorBody: "empty", tokenFormat: "form", inFlight: "423" },
  { unstatedErrorBody: "html", tokenFormat: "json", illegalTransition: "422", maxProfilesStatus: "403" },
])("is a valid OpenAPI 3.1 document with the switches %o", async (switches) => {
  const document = await documentOf(givenApi(switches));
  expect(document.openapi).toBe("3.1.0");
  expect(await new Validator().validate(structuredClone(document))).toEqual({ valid: true });
});

const webhook = "/management/webhooks/{webhookEndpointReference}";
const esim = "/profiles/{profileReference}/esims/{esimReference}";

it("has every operation of the specification, with the statuses that it lists and those of idempotency keys", async () => {
  const { paths } = await documentOf(givenApi());
  const listed = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { responses }]) => [
      `${method.toUpperCase()} ${path}`,
      Object.keys(responses).join(" "),
    ]),
  );
  expect(Object.fromEntries(listed)).toEqual({
    "POST /auth/token": "200 400 401 429 500",
    "GET /management/client": "200 401 429 500",
    "GET /catalog/esim-variants": "200 401 403 429 500",
    "GET /catalog/webhook-event-types": "200 401 403 429 500",
    "POST /management/webhooks": "201 400 401 409 422 429 500",
    "GET /management/webhooks": "200 400 401 429 500",
    [`POST ${webhook}/rotate-secret`]: "200 400 401 404 409 422 429 500",
    [`DELETE ${webhook}`]: "200 401 404 429 500",
    [`GET ${webhook}/deliveries`]: "200 400 401 404 429 500",
    "POST /number/{profileReference}/allocate": "200 400 401 403 404 409 422 429 500",
    [`POST ${esim}/port-ins`]: "201 400 401 403 404 409 422 429 500",
    "POST /esims": "201 400 401 409 422 429 500",
    [`PATCH ${esim}/lifecycle`]: "200 400 401 403 404 409 422 429 500",
  });
});

it("marks the operations that the specification calls experimental, as extension and in words", async () => {
  const { paths } = await documentOf(givenApi());
  const marked = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([, operation]) => "x-experimental" in operation)
      .map(([method, operation]) => {
        expect(operation).toMatchObject({
          "x-experimental": true,
          description: expect.stringMatching(/^Experimental: /),
        });
        return `${method.toUpperCase()} ${path}`;
      }),
  );
  expect(marked.sort()).toEqual(
    [
      "GET /management/client",
      "GET /catalog/esim-variants",
      "GET /catalog/webhook-event-types",
      "POST /management/webhooks",
      "GET /management/webhooks",
      `POST ${webhook}/rotate-secret`,
      `DELETE ${webhook}`,
      `GET ${webhook}/deliveries`,
      `POST ${esim}/port-ins`,
    ].sort(),
  );
});

it("says that a body is required where it has required fields, and refuses a call without it", async () => {
  const given = givenApi();
  const { paths } = await documentOf(given);
  const required = (path: string) =>
    (paths[path]?.["post"] as { requestBody?: { required?: boolean } } | undefined)?.requestBody?.required;
  expect(required("/esims")).toBe(false);
  expect((await given.call("POST /esims")).status).toBe(201);
  expect(required("/management/webhooks")).toBe(true);
  expect((await given.call("POST /management/webhooks")).status).toBe(400);
});

describe("what is answered", () => {
  it("is what the document says: status, media type and schema, of every operation and of errors", async () => {
    const given = givenApi();
    const document = await documentOf(given);
    const ajv = formats
      .default(new Ajv2020({ strict: false, allErrors: true }))
      .addSchema(document, "document");

    async function checked(call: string, path: string, answering: Promise<Response>): Promise<Data> {
      const answer = await answering;
      const method = call.toLowerCase();
      const content = document.paths[path]?.[method]?.responses[answer.status]?.content ?? {};
      const mediaType = answer.headers.get("content-type") ?? "";
      expect(Object.keys(content), `${call} ${path} ${answer.status}`).toEqual([mediaType]);
      const steps = ["paths", path, method, "responses", answer.status, "content", mediaType, "schema"];
      const pointer = steps.map((step) => String(step).replaceAll("~", "~0").replaceAll("/", "~1")).join("/");
      const body = (await answer.json()) as { data?: Data };
      const isValid = ajv.validate({ $ref: `document#/${encodeURI(pointer)}` }, body);
      expect({ isValid, body, errors: ajv.errorsText() }).toMatchObject({ isValid: true });
      return body.data ?? {};
    }
    /** Calls by the path of the document. */
    const call = (name: string, parameters: Data = {}, body?: unknown) => {
      const [method = "", path = ""] = name.split(" ");
      const filled = path.replaceAll(/\{(\w+)\}/g, (_, parameter: string) => parameters[parameter] ?? "none");
      return checked(method, path, given.call(`${method} ${filled}`, body));
    };

    await checked(
      "POST",
      "/auth/token",
      given.api.request("/api/v3/auth/token", {
        method: "POST",
        body: new URLSearchParams({ client_id: given.clientId, client_secret: given.clientSecret }),
      }) as Promise<Response>,
    );
    await call("GET /management/client");
    await call("GET /catalog/esim-variants");
    await call("GET /catalog/webhook-event-types");

    const one = await call("POST /management/webhooks", {}, endpoint);
    await call("POST /management/webhooks", {}, {});
    for (let count = 1; count < 5; count++) await call("POST /management/webhooks", {}, endpoint);
    await call("POST /management/webhooks", {}, endpoint); // above the cap
    await call("GET /management/webhooks");
    await call(`POST ${webhook}/rotate-secret`, one);
    await call(`POST ${webhook}/rotate-secret`);
    emitEvent(given.service, given.clientId, { type: "esim.assigned", data: {} });
    await call(`GET ${webhook}/deliveries`, one);
    await call(`GET ${webhook}/deliveries`);
    await call(`DELETE ${webhook}`, one);
    await call(`DELETE ${webhook}`, one);

    const ordered = await call("POST /esims", {}, { externalProfileId: "user-1" });
    await call("POST /esims", {}, { externalProfileId: "user-1" });
    const details = { donorContractType: "prepaid", donorIccid: "8932042000010012344" };
    await call(`POST ${esim}/port-ins`, ordered, { msisdn: "32470123456", details });
    await call(`POST ${esim}/port-ins`, ordered, { msisdn: "32470123456", details });
    await call(`POST ${esim}/port-ins`, ordered, { msisdn: "0470123456", details });
    const address = { street: "Kerkstraat", city: "Gent", postalCode: "9000", countryCode: "BE" };
    const customerInfo = { firstName: "Ada", lastName: "Peeters", address };
    const { esimReference = "" } = ordered;
    await call("POST /number/{profileReference}/allocate", ordered, {
      esimReference,
      countryCode: "BE",
      customerInfo,
    });
    await call(`PATCH ${esim}/lifecycle`, ordered, { operation: "suspend" });
    await call(`PATCH ${esim}/lifecycle`, ordered, { operation: "suspend" });
    await call(`PATCH ${esim}/lifecycle`, {}, { operation: "suspend" });
  });
});

type Data = Readonly<Record<string, string>>;
