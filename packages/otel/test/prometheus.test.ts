import { createReceiver, memoryStore } from "@esim-webhooks/core";
import { memoryInbox, newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { metricsHandler } from "@esim-webhooks/otel/prometheus";
import { expect, it, onTestFinished } from "vitest";
import { listen } from "../../../test/listen.ts";

it("serves the metrics of this process as text, to fetch and over HTTP, and still does when the inbox does not answer", async () => {
  const secret = newSecret();
  const inbox = memoryInbox();
  const metrics = await metricsHandler({ inbox });
  onTestFinished(() => metrics.close());
  const receiver = createReceiver({ "*": () => {} }, { secret, store: memoryStore() });
  await receiver.receive(
    signedRequest({ type: "esim.faulted", data: sampleData("esim.faulted") }, { secret }),
  );

  const response = await metrics();
  expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  const text = await response.text();
  expect(text).toMatch(/^esim_webhooks_deliveries_total\{outcome="processed",type="esim\.faulted".*\} 1/m);
  expect(text).toMatch(/^esim_webhooks_inbox_events\{state="ready".*\} 0/m);
  expect(text).toMatch(/^messaging_process_duration_count\{.*\} 1/m);

  const server = await listen(
    (request, response) => void metrics.node(request, response),
    "/",
    async () => {},
  );
  onTestFinished(() => server.close());
  expect(await (await fetch(server.url)).text()).toContain("esim_webhooks_deliveries_total");

  expect(text).toMatch(/^esim_webhooks_inbox_up 1/m);
  await inbox.close();
  const without = await (await metrics()).text();
  expect(without).toContain("esim_webhooks_deliveries_total");
  expect(without).toMatch(/^esim_webhooks_inbox_up 0/m);
});
