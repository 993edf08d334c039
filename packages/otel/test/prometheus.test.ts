import { createReceiver, memoryStore } from "@esim-webhooks/core";
import { memoryInbox, newSecret } from "@esim-webhooks/core/testing";
import { instrument } from "@esim-webhooks/otel";
import { metricsHandler } from "@esim-webhooks/otel/prometheus";
import { PrometheusExporter } from "@opentelemetry/exporter-prometheus";
import { expect, it, onTestFinished, vi } from "vitest";
import { listen } from "../../../test/listen.ts";
import { pipelined } from "../../../test/pipelined.ts";
import { signedDelivery } from "../../../test/support/signed-delivery.ts";
import { publishEveryMessage } from "./every-message.ts";
import { instrumented } from "./set-up.ts";

const idleWorker = {
  slots: () => ({ concurrency: 1, running: 1, abandoned: 0 }),
  sinceLastTakeMs: () => 1,
};

it("serves the metrics of this process as text, to fetch and over HTTP, and still does when the inbox does not answer", async () => {
  const secret = newSecret();
  const inbox = memoryInbox();
  const metrics = await metricsHandler({ inbox });
  onTestFinished(() => metrics.close());
  const receiver = createReceiver({ "*": () => {} }, { secret, store: memoryStore() });
  await receiver.receive(signedDelivery(secret));

  const response = await metrics();
  expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  const text = await response.text();
  expect(text).toMatch(/^esim_webhooks_deliveries_total\{outcome="processed",type="esim\.faulted".*\} 1/m);
  expect(text).toMatch(/^esim_webhooks_inbox_events\{state="ready".*\} 0/m);
  expect(text).toMatch(/^messaging_process_duration_seconds_count\{.*\} 1/m);

  const server = await listen(
    (request, response) => void metrics.node(request, response),
    "/",
    async () => {},
  );
  onTestFinished(() => server.close());
  expect(await (await fetch(server.url)).text()).toContain("esim_webhooks_deliveries_total");

  expect(text).toMatch(/^esim_webhooks_inbox_up 1/m);
  expect(text).toMatch(/^esim_webhooks_inbox_oldest_due_age_seconds(\{.*\})? 0/m);
  await inbox.close();
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  vi.advanceTimersByTime(3_600_000); // what was read is shared for a second
  const without = await (await metrics()).text();
  expect(without).toContain("esim_webhooks_deliveries_total");
  expect(without).toMatch(/^esim_webhooks_inbox_up 0/m);
  expect(without).not.toMatch(/^esim_webhooks_(inbox_oldest_due_age|inbox_events)/m); // the last values are no longer true
});

it("gives times the unit in their name, as a collector does, and leaves the instruments as they are", async () => {
  const otel = instrumented();
  const metrics = await metricsHandler({ inbox: memoryInbox(), worker: idleWorker });
  onTestFinished(() => metrics.close());
  publishEveryMessage();
  const families = (await (await metrics()).text()).matchAll(/^# UNIT (\S+) s$/gm);
  const names = Array.from(families, ([, name = ""]) => name);
  expect(names).toHaveLength(11); // no type is paused, and no delivery was stored
  expect(names.filter((name) => !name.endsWith("_seconds"))).toEqual([]);
  expect((await otel.instruments()).filter(({ name }) => name.endsWith("seconds"))).toEqual([]);
});

it("starts the counters of outcomes and types of the catalog at 0, so that a rate sees the first failure", async () => {
  const metrics = await metricsHandler();
  onTestFinished(() => metrics.close());
  const before = await (await metrics()).text();
  const zeros = before.split("\n").filter((line) => / 0$/.test(line));
  expect(zeros).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^esim_webhooks_deliveries_total\{outcome="no_matching_key",type="other"/),
      expect.stringMatching(/^esim_webhooks_deliveries_total\{outcome="failed",type="esim\.faulted"/),
      expect.stringMatching(
        /^esim_webhooks_settlements_total\{outcome="dead",type="esim\.faulted",reason="failed"/,
      ),
    ]),
  );
  expect(zeros.length).toBeLessThan(450);
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  publishEveryMessage();
  vi.advanceTimersByTime(3_600_000);
  const after = await (await metrics()).text();
  const seriesIn = (text: string) =>
    new Set(text.match(/^esim_webhooks_(?:deliveries|settlements|duplicates|conflicts)_total\{.*\}/gm));
  expect([...seriesIn(before)].filter((series) => !seriesIn(after).has(series))).toEqual([]);
});

it("can be used next to instrument, and twice", async () => {
  const secret = newSecret();
  const stop = instrument();
  const first = await metricsHandler();
  const second = await metricsHandler();
  onTestFinished(() => first.close());
  onTestFinished(stop);
  const receiver = createReceiver({ "*": () => {} }, { secret, store: memoryStore() });
  const receive = () => receiver.receive(signedDelivery(secret));
  await receive();
  await second.close();
  await receive();
  expect(await (await first()).text()).toMatch(/^esim_webhooks_deliveries_total\{.*\} 2/m);
});

it("waits 2 s for an inbox, and asks it once at a time", async () => {
  let asked = 0;
  const inbox = {
    gauges: () => {
      asked += 1;
      return new Promise<never>(() => {});
    },
    paused: async () => [],
    runs: async () => [],
  };
  const metrics = await metricsHandler({ inbox });
  onTestFinished(() => metrics.close());
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  let answered = 0;
  const answers = [metrics(), metrics()].map(async (response) => {
    const text = await (await response).text();
    answered += 1;
    return text;
  });
  await vi.advanceTimersByTimeAsync(1999);
  expect(answered).toBe(0);
  await vi.advanceTimersByTimeAsync(1);
  const texts = await Promise.all(answers);
  for (const text of texts) expect(text).toMatch(/^esim_webhooks_inbox_up(\{.*\})? 0/m);
  expect(asked).toBe(1);
});

const counts = { ready: 0, waiting: 0, blocked: 0, paused: 0, leased: 0, unhandled: 0, dead: 1 };

it.each([
  [
    "throws",
    () => {
      throw new TypeError("a wrapper of the user");
    },
  ],
  [
    "answers with times that are none",
    async () => ({
      counts,
      capped: [],
      blockedBy: { failing: 0, paused: 0, dead: 0 },
      oldestReadyMs: null,
      lastReceivedAt: "29/11/2026" as never,
    }),
  ],
])("shows an inbox that %s as one that does not answer", async (_, gauges) => {
  const inbox = {
    gauges,
    paused: async () => [],
    runs: async () => [],
  };
  const metrics = await metricsHandler({ inbox });
  onTestFinished(() => metrics.close());
  expect(await (await metrics()).text()).toMatch(/^esim_webhooks_inbox_up(\{.*\})? 0/m);
});

it("shows an inbox that can be read but stores nothing as down, with its counts", async () => {
  const inbox = memoryInbox();
  const full = () => Promise.reject(new Error("no space left"));
  const hanging = () => new Promise<void>(() => {});
  for (const ready of [full, hanging]) {
    const metrics = await metricsHandler({ inbox: { ...inbox, ready } });
    const text = await (await metrics()).text();
    await metrics.close();
    expect(text).toMatch(/^esim_webhooks_inbox_up(\{.*\})? 0/m);
    expect(text).toMatch(/^esim_webhooks_inbox_events\{state="ready".*\} 0/m);
  }
});

it("answers 503 if the metrics cannot be read, and does not reject", async () => {
  const metrics = await metricsHandler();
  await metrics.close();
  expect((await metrics()).status).toBe(503);
  const response = { writeHead: vi.fn().mockReturnThis(), end: vi.fn() };
  await metrics.node({} as never, response as never);
  expect(response.writeHead).toHaveBeenCalledWith(503, expect.anything());
});

it("reads the metrics once for thousands of scrapes on one connection, and cuts that connection", async () => {
  const collect = vi.spyOn(PrometheusExporter.prototype, "collect");
  onTestFinished(() => collect.mockRestore());
  const metrics = await metricsHandler();
  onTestFinished(() => metrics.close());
  const server = await listen(
    (request, response) => void metrics.node(request, response),
    "/",
    async () => {},
  );
  onTestFinished(() => server.close());
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const statuses = await pipelined(server.url, 5000);
  expect(statuses.length).toBeLessThan(5000);
  expect(collect).toHaveBeenCalledTimes(1);
  expect((await fetch(server.url)).status).toBe(200);
});
