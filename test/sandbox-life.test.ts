import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { WebhookEvent } from "@esim-webhooks/core";
import { silentLogger } from "@esim-webhooks/core/internal";
import { webhookRouter } from "@esim-webhooks/express";
import { startSandbox } from "@esim-webhooks/sandbox";
import express from "express";
import { expect, it, onTestFinished } from "vitest";
import { expectWarnings } from "./support/warnings.ts";

expectWarnings("no_matching_key");

/** A server for a receiver of ours, which is there once its secret is known. */
async function startServer() {
  const server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`,
    receive(secret: string, handle: (event: WebhookEvent) => void) {
      server.on(
        "request",
        express().use(webhookRouter({ "*": (event) => handle(event) }, { secret, logger: silentLogger })),
      );
    },
  };
}

it("takes an eSIM from its order to its end beside a receiver, which handles each event once in spite of faults", async () => {
  const handled: WebhookEvent[] = [];
  const server = await startServer();
  await using sandbox = await startSandbox({ clock: "manual", switches: { rateLimit: "off" }, seed: 1 });
  const { clientId, clientSecret } = sandbox.credentials;
  const token = await fetch(`${sandbox.url}/auth/token`, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "client_credentials",
      client_id: clientId,
      client_secret: clientSecret,
    }),
  });
  const { access_token } = (await token.json()) as { access_token: string };
  async function call<Data>(method: string, path: string, body?: object, key = ""): Promise<Data> {
    const response = await fetch(sandbox.url + path, {
      method,
      headers: {
        authorization: `Bearer ${access_token}`,
        "content-type": "application/json",
        ...(key !== "" && { "x-idempotency-key": key }),
      },
      body: body ? JSON.stringify(body) : null,
    });
    return ((await response.json()) as { data: Data }).data;
  }

  const types = await call<{ eventType: string }[]>("GET", "/catalog/webhook-event-types");
  const { signingSecret } = await call<{ signingSecret: string }>("POST", "/management/webhooks", {
    url: server.url,
    eventTypes: types.map(({ eventType }) => eventType),
  });
  server.receive(signingSecret, (event) => void handled.push(event));

  sandbox.faults.add({ kind: "duplicate", times: 3 });
  sandbox.faults.add({ kind: "cut" });
  sandbox.faults.add({ kind: "wrong_signature", eventType: "esim.balance.updated" });
  sandbox.faults.dropNextAnswer("POST /esims");
  const order = () => call<{ esimReference: string }>("POST", "/esims", {}, "order-1");
  await expect(order()).rejects.toThrow();
  const esim = await sandbox.esim((await order()).esimReference);

  await esim.fault("install_failed");
  await esim.enable();
  await esim.enterNetwork("NL");
  await esim.enterNetwork("NL"); // the same: no event
  await esim.orderPackage();
  await esim.credit(500);
  const path = `/profiles/${esim.profileReference}/esims/${esim.esimReference}/lifecycle`;
  for (const operation of ["suspend", "reactivate", "terminate"]) await call("PATCH", path, { operation });
  await sandbox.advance("1h");

  const [bad] = await fetch(`${sandbox.controlUrl}/deliveries?limit=100`)
    .then((response) => response.json() as Promise<{ data: { eventType: string; httpStatus: number }[] }>)
    .then(({ data }) => data.filter(({ httpStatus }) => httpStatus !== 200));
  expect(bad).toMatchObject({ eventType: "esim.balance.updated", httpStatus: 401 }); // a 4xx is not tried again
  expect(handled.map(({ type }) => type).sort()).toEqual(
    [
      "esim.assigned",
      "esim.faulted",
      "esim.downloaded",
      "esim.installed",
      "esim.enabled",
      "esim.mccswitch",
      "package.created",
      "package.activated",
      "package.ended",
      "esim.lifecycle.suspended",
      "esim.lifecycle.activated",
      "esim.lifecycle.terminated",
    ].sort(),
  );
  await sandbox.replay({ ids: handled.map(({ id }) => id) });
  await sandbox.settled();
  expect(handled).toHaveLength(12); // sent again, and known
});
