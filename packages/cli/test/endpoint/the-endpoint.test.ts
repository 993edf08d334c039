import { describe, expect, it } from "vitest";
import { theEndpoint } from "../../src/endpoint/find-endpoint.ts";
import { startService } from "../api/service.ts";

const request = { url: "https://shop.example/webhooks", eventTypes: ["esim.faulted"] };
const other = { ...request, url: "https://user:pass@other.example/webhooks" };

describe("the endpoint that a command is about", () => {
  it("is the client's only one, without --endpoint", async () => {
    const { api } = await startService();
    const made = await api.webhooks.create(request);
    const { webhookEndpointReference, url } = await theEndpoint(api, undefined);
    expect({ webhookEndpointReference, url }).toEqual({
      webhookEndpointReference: made.webhookEndpointReference,
      url: request.url,
    });
  });

  it("is the one that --endpoint names", async () => {
    const { api } = await startService();
    await api.webhooks.create(request);
    const { webhookEndpointReference } = await api.webhooks.create(other);
    expect(await theEndpoint(api, webhookEndpointReference)).toMatchObject({ webhookEndpointReference });
  });

  it("is unknown when there are several, which are listed with their URLs and without passwords", async () => {
    const { api, sandbox } = await startService();
    const { webhookEndpointReference: first } = await api.webhooks.create(request);
    const { webhookEndpointReference: second } = await api.webhooks.create(other);
    await sandbox.setEndpointActive(second, false);
    const error = await theEndpoint(api, undefined).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: "endpoint_unknown" });
    expect(error.message).toContain(
      "The client has 2 endpoints, so the command needs to know which one. Name it with --endpoint. It has ",
    );
    expect(error.message).toContain(`${first} (https://shop.example/webhooks)`);
    expect(error.message).toMatch(
      new RegExp(`${second} \\(https://\\S+other\\.example/webhooks, not active\\)`),
    );
    expect(error.message).not.toContain("pass@");
  });

  it("is unknown when --endpoint names another, or when there is none", async () => {
    const { api } = await startService();
    await expect(theEndpoint(api, undefined)).rejects.toThrow(
      "The client has no endpoint. Register one: esim-webhooks endpoint ensure <url>.",
    );
    const { webhookEndpointReference } = await api.webhooks.create(request);
    await expect(theEndpoint(api, "7b1f0c")).rejects.toThrow(
      `The client has no endpoint 7b1f0c. Correct --endpoint. It has ${webhookEndpointReference} (`,
    );
  });
});
