import { type ApiClient, createClient, type PortIn, type WebhookDelivery } from "@esim-webhooks/client";
import { expectTypeOf, it } from "vitest";

declare const api: ApiClient;
const details = { donorContractType: "prepaid" } as const;
const address = { street: "s", city: "c", postalCode: "p", countryCode: "BE" };
const customerInfo = { firstName: "f", lastName: "l", address };
const allocation = { esimReference: "e", countryCode: "BE", customerInfo };

it("does not compile with a wrong field, value or operation", () => {
  // @ts-expect-error there is no such option
  createClient({ clientID: "1" });
  // @ts-expect-error eventTypes are required
  api.webhooks.create({ url: "https://a" });
  // @ts-expect-error there is no such field
  api.webhooks.create({ url: "https://a", eventTypes: [], active: true });
  // @ts-expect-error an endpoint cannot be switched off
  api.webhooks.update;
  // @ts-expect-error no such type of number
  api.numbers.allocate("p", { ...allocation, type: "voip" });
  // @ts-expect-error the address is required
  api.numbers.allocate("p", { ...allocation, customerInfo: { firstName: "f", lastName: "l" } });
  // @ts-expect-error the service refuses unknown details
  api.portIns.create("p", "e", { msisdn: "32470123456", details: { ...details, donorName: "x" } });
  // @ts-expect-error no such operation
  api.lifecycle("p", "e", "resume");
  // @ts-expect-error the order has documented fields of a type
  api.esims.order({ externalProfileId: 5 });
  // @ts-expect-error a GET has no key
  api.client.get({ idempotencyKey: "k" });
  // @ts-expect-error no such method
  api.request("PUT", "/esims");
});

it("types what the API shows, and leaves open what it does not", () => {
  expectTypeOf(api.webhooks.create).returns.resolves.toHaveProperty("signingSecret").toEqualTypeOf<string>();
  expectTypeOf(api.webhooks.list().page)
    .returns.resolves.toHaveProperty("data")
    .items.not.toHaveProperty("signingSecret");
  expectTypeOf(api.webhooks.deliveries("w")).toExtend<AsyncIterable<WebhookDelivery>>();
  expectTypeOf<"delivered">().toExtend<WebhookDelivery["status"]>();
  expectTypeOf<string>().toExtend<PortIn["status"]>();
  expectTypeOf(api.esims.order({ somethingNew: 1 })).resolves.toBeUnknown();
  expectTypeOf(api.lifecycle).returns.resolves.toBeUnknown();
  expectTypeOf(api.request).returns.resolves.toBeUnknown();
});
