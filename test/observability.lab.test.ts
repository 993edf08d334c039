import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { describe, expect, it } from "vitest";
import { exampleFolder, monitoringFolder, startExample, until, watchExample } from "./observed-example.ts";
import { type Prometheus, promtool } from "./servers/prometheus.ts";

const read = (file: string) => readFile(join(monitoringFolder, file), "utf8");

/** The queries of the dashboard, as Grafana asks them when all namespaces are chosen. */
async function dashboardQueries(): Promise<readonly string[]> {
  const { panels } = JSON.parse(await read("dashboard.json")) as {
    panels: { targets?: { expr: string }[] }[];
  };
  return panels
    .flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
    .map((expr) => expr.replaceAll("$__rate_interval", "1m").replaceAll("$namespace", ".*"));
}

/** What queries select, as `name{labels}`. */
function selectorsIn(queries: string): ReadonlySet<string> {
  const withoutLabels = queries.replaceAll(/#.*|\b(?:by|on|ignoring) \([^)]*\)/g, "");
  return new Set(withoutLabels.match(/\b(?:esim_webhooks|messaging)_\w+(?:\{[^}]*\})?|\bup\{[^}]*\}/g));
}

describe("examples/observability", () => {
  it("is scraped through a storm, an outage, a rotation and a dead letter: every query of its dashboard has data, and its alerts begin and end", async () => {
    const { database, sandbox, delivered, inbox, url, metricsPorts, start, emit, rotate, endFirstKey } =
      await startExample();
    const [receiverMetrics, workerMetrics] = metricsPorts;
    const [receiver, firstWorker] = await Promise.all([start("receiver"), start("worker")]);
    const prometheus = await watchExample(metricsPorts, await read("rules.yml"));

    const manifests = await readFile(join(exampleFolder, "kubernetes.yaml"), "utf8");
    const probes = (metricsPort: number) =>
      Promise.all(
        ["readinessProbe", "livenessProbe"].map(async (name) => {
          const [, path = ""] =
            new RegExp(`${name}:\\n +httpGet: \\{ path: (\\S+), port: metrics \\}`).exec(manifests) ?? [];
          return (await fetch(`http://127.0.0.1:${metricsPort}${path}`)).status;
        }),
      );
    const allProbes = async () => [await probes(receiverMetrics), await probes(workerMetrics)];
    await expect.poll(allProbes).toEqual([
      [200, 200],
      [200, 200],
    ]);

    // a storm
    await until(prometheus, "sum(up)", (count) => count === 2);
    const types = ["esim.assigned", "esim.enabled", "esim.lifecycle.activated", "esim.balance.updated"];
    const storm = () =>
      Promise.all(Array.from({ length: 40 }, (_, n) => emit(types[n % types.length] ?? "")));
    await storm();
    await until(prometheus, "sum(esim_webhooks_event_age_seconds_count)", (count) => count > 0);
    await storm(); // a rate is the difference of two scrapes
    sandbox.faults.add({ kind: "error", call: "POST /esims", status: 400 }); // the handler fails, and its next attempt does not
    await emit("esim.faulted", { reason: "download_order_expired" });
    sandbox.faults.add({ kind: "duplicate" });
    await emit("esim.disabled");
    sandbox.faults.add({ kind: "wrong_signature", eventType: "esim.deleted", times: 10 });
    for (let n = 0; n < 10; n += 1) await emit("esim.deleted");
    await sandbox.settled();
    await isFiring(prometheus, "EsimWebhooksDeliveriesRefused");

    // an outage of the database
    await database.stop();
    await emit("esim.enabled");
    await sandbox.settled();
    await isPending(prometheus, "EsimWebhooksInboxDown");
    await expect.poll(allProbes).toEqual([
      [503, 200],
      [503, 200],
    ]);
    await database.start();
    await sandbox.advance("30s");
    await hasEnded(prometheus, "EsimWebhooksInboxDown");

    // an outage of the worker, once its series have the two scrapes that each rate needs
    const ofWorkers = /settlements|event_age|inbox_wait|messaging_process/;
    for (const query of (await dashboardQueries()).filter((query) => ofWorkers.test(query)))
      await hasData(prometheus, query);
    firstWorker.child.kill("SIGKILL");
    await firstWorker.ended;
    await isPending(prometheus, "EsimWebhooksTargetDown");
    await emit("esim.lifecycle.activated");
    await sandbox.settled();
    await until(prometheus, "max(esim_webhooks_inbox_oldest_due_age_seconds)", (age) => age > 1);
    const worker = await start("worker");
    await hasEnded(prometheus, "EsimWebhooksTargetDown");
    await until(prometheus, "max(esim_webhooks_inbox_oldest_due_age_seconds)", (age) => age === 0);

    // a rotation
    const signingSecret = await rotate();
    await emit("esim.enabled");
    await sandbox.settled();
    await until(prometheus, 'count(esim_webhooks_verify_total{outcome="verified"})', (count) => count === 2);

    // the old key ends, and is used once more
    await endFirstKey();

    // a clock that is slow, and a type that is paused
    const late = { id: "msg_late", type: "esim.enabled", data: sampleData("esim.enabled") };
    const at = new Date(Date.now() - 200_000); // within the tolerance
    expect((await fetch(url, signedRequest(late, { secret: signingSecret, at }))).status).toBe(202);
    delivered.add(late.id);
    await inbox.pause({ types: ["esim.lifecycle.activated"], reason: "the CRM is down" });
    await emit("esim.lifecycle.activated");
    await sandbox.settled();
    await until(prometheus, 'max(esim_webhooks_inbox_events{state="paused"})', (count) => count === 1);

    // a dead letter
    await emit("esim.enabled", { iccid: 7 });
    await sandbox.settled();
    await isFiring(prometheus, "EsimWebhooksDeadLetters");
    const [id = ""] = delivered;
    const conflict = signedRequest({ id, type: "esim.enabled", data: {} }, { secret: signingSecret });
    expect((await fetch(url, conflict)).status).toBe(202);

    await until(
      prometheus,
      'sum(esim_webhooks_deliveries_total{outcome="stored"})',
      (count) => count === delivered.size,
    );
    const queries = await dashboardQueries();
    const selectors = selectorsIn([await read("rules.yml"), ...queries].join("\n"));
    expect(selectors.size).toBeGreaterThan(30);
    for (const query of [...queries, ...selectors]) await hasData(prometheus, query);
    expect(await prometheus.ruleErrors()).toEqual([]);
    const [series] = await prometheus.query("max(scrape_samples_scraped)");
    expect(series?.values[0]).toBeLessThan(2000);

    for (const [{ child, ended }, span] of [
      [receiver, "send esim-webhooks"],
      [worker, "process esim-webhooks"],
    ] as const) {
      child.kill("SIGTERM");
      const { code, output } = await ended;
      expect(code, output).toBe(0);
      expect(output).toContain(`name: '${span}'`);
    }
  });
});

const hasData = (prometheus: Prometheus, query: string) =>
  expect.poll(() => prometheus.queryAll(query), { message: query }).not.toEqual([]);

async function stateOf(prometheus: Prometheus, alert: string): Promise<string> {
  const alerts = (await prometheus.alerts()).filter(({ labels }) => labels["alertname"] === alert);
  for (const { annotations } of alerts)
    expect(annotations["summary"]).not.toMatch(/error expanding template|<no value>/);
  return alerts[0]?.state ?? "ended";
}

const isFiring = (prometheus: Prometheus, alert: string) =>
  expect.poll(() => stateOf(prometheus, alert), { message: alert }).toBe("firing");
/** Its expression is true; it fires only after minutes. */
const isPending = (prometheus: Prometheus, alert: string) =>
  expect.poll(() => stateOf(prometheus, alert), { message: alert }).toBe("pending");
const hasEnded = (prometheus: Prometheus, alert: string) =>
  expect.poll(() => stateOf(prometheus, alert), { message: alert }).toBe("ended");

describe("the alert rules of packages/otel/monitoring", () => {
  it("are valid, and each of them fires and ends as its tests say", () => {
    for (const args of [
      ["check", "rules", "rules.yml"],
      ["test", "rules", "rules.test.yml"],
    ]) {
      const { code, output } = promtool(monitoringFolder, ...args);
      expect(code, output).toBe(0);
    }
  });
});
