import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@esim-webhooks/client";
import type { KeyRecord } from "@esim-webhooks/core";
import { stateKeySource } from "@esim-webhooks/core/key-state";
import { newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { startSandbox } from "@esim-webhooks/sandbox";
import { postgresInbox, postgresState } from "@esim-webhooks/store-postgres";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Run, root, runNode } from "./run.ts";
import { startPostgres } from "./servers/index.ts";
import { freePort } from "./servers/kept-server.ts";
import { type Prometheus, privatePrometheus, promtool } from "./servers/prometheus.ts";

const folder = join(root, "examples/observability");
const read = (file: string) => readFile(join(folder, file), "utf8");

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
    const database = await startPostgres();
    onTestFinished(() => database.close());
    const delivered = new Set<string>();
    const sandbox = await startSandbox({
      clock: "manual",
      switches: { cacheErrors: "off" },
      onAttempt: ({ eventId, status }) => status === "delivered" && delivered.add(eventId),
    });
    onTestFinished(() => sandbox.close());
    const api = createClient({ baseUrl: sandbox.url, ...sandbox.credentials });

    const inbox = postgresInbox({ url: database.url });
    const state = postgresState({ url: database.url });
    onTestFinished(async () => {
      await inbox.close();
      await state.close();
    });
    const keys = stateKeySource(state);
    const [port, receiverMetrics, workerMetrics] = [await freePort(), await freePort(), await freePort()];
    const url = `http://127.0.0.1:${port}/webhooks`;
    const environment = {
      DATABASE_URL: database.url,
      ESIM_API_URL: sandbox.url,
      ESIM_CLIENT_ID: sandbox.credentials.clientId,
      ESIM_CLIENT_SECRET: sandbox.credentials.clientSecret,
      STORING_SINCE: new Date().toISOString(),
      PORT: String(port),
    };
    const registered = await runNode(["examples/observability/register.ts", url], environment).ended;
    const endpoint = registered.output.trim();
    const start = async (name: "receiver" | "worker", metricsPort: number): Promise<Run> => {
      const run = runNode([`examples/observability/${name}.ts`], {
        ...environment,
        ESIM_ENDPOINT: endpoint,
        METRICS_PORT: String(metricsPort),
      });
      onTestFinished(async () => {
        run.child.kill("SIGKILL");
        await run.ended;
      });
      await run.line(/^(receiving|working)$/);
      return run;
    };
    const [receiver, firstWorker] = await Promise.all([
      start("receiver", receiverMetrics),
      start("worker", workerMetrics),
    ]);

    const config = (await read("prometheus.yml"))
      .replaceAll("15s", "1s")
      .replace("127.0.0.1:9464", `127.0.0.1:${receiverMetrics}`)
      .replace("127.0.0.1:9465", `127.0.0.1:${workerMetrics}`);
    const manifests = await read("kubernetes.yaml");
    const probes = (metricsPort: number) =>
      Promise.all(
        ["readinessProbe", "livenessProbe"].map(async (name) => {
          const [, path = ""] =
            new RegExp(`${name}:\\n +httpGet: \\{ path: (\\S+), port: metrics \\}`).exec(manifests) ?? [];
          return (await fetch(`http://127.0.0.1:${metricsPort}${path}`)).status;
        }),
      );
    expect([await probes(receiverMetrics), await probes(workerMetrics)]).toEqual([
      [200, 200],
      [200, 200],
    ]);
    const prometheus = await privatePrometheus(config, join(folder, "rules.yml"));
    onTestFinished(() => prometheus.close());
    let esims = 0;
    /** Of an eSIM of its own, so that no event waits behind another one. */
    const emit = (type: string, changes: object = {}) => {
      esims += 1;
      const data = { ...sampleData(type as "esim.enabled"), esimReference: `esim_${esims}`, ...changes };
      return sandbox.emit({ type, data });
    };

    // a storm
    await until(prometheus, "sum(up)", (count) => count === 2);
    const types = ["esim.assigned", "esim.enabled", "esim.lifecycle.activated", "esim.balance.updated"];
    const storm = () =>
      Promise.all(Array.from({ length: 40 }, (_, n) => emit(types[n % types.length] ?? "")));
    await storm();
    await until(prometheus, "sum(esim_webhooks_event_age_count)", (count) => count > 0);
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
    expect([await probes(receiverMetrics), await probes(workerMetrics)]).toEqual([
      [503, 200],
      [503, 200],
    ]);
    await database.start();
    await sandbox.advance("30s");
    await hasEnded(prometheus, "EsimWebhooksInboxDown");

    // an outage of the worker
    firstWorker.child.kill("SIGKILL");
    await firstWorker.ended;
    await isPending(prometheus, "EsimWebhooksTargetDown");
    await emit("esim.lifecycle.activated");
    await sandbox.settled();
    await until(prometheus, "max(esim_webhooks_inbox_oldest_due_age)", (age) => age > 1);
    const worker = await start("worker", workerMetrics);
    await hasEnded(prometheus, "EsimWebhooksTargetDown");
    await until(prometheus, "max(esim_webhooks_inbox_oldest_due_age)", (age) => age === 0);

    // a rotation
    const change = async (next: (record: KeyRecord) => KeyRecord) => {
      const stored = await keys.read();
      if (stored === undefined) throw new Error("There are no keys.");
      await keys.write(next(stored.record), stored.version);
    };
    const { signingSecret } = await api.webhooks.rotateSecret(endpoint);
    await change(({ keys }) => ({ keys: [...keys, signingSecret] }));
    await emit("esim.enabled");
    await sandbox.settled();
    await until(prometheus, 'count(esim_webhooks_verify_total{outcome="verified"})', (count) => count === 2);

    // the old key ends, and is used once more
    const endedAt = new Date(Date.now() - 1000).toISOString();
    await change(({ keys }) => ({
      keys: keys.map((key) =>
        typeof key === "object" && key.endpoint === endpoint ? { ...key, notAfter: endedAt } : key,
      ),
    }));
    const forged = { id: "msg_forged_later", type: "esim.enabled", data: {} };
    await fetch(url, signedRequest(forged, { secret: newSecret() })); // an unknown signature makes the receiver load its keys again
    sandbox.faults.add({ kind: "old_signature" });
    await emit("esim.enabled");
    await sandbox.settled();

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
    for (const query of [...queries, ...selectors])
      await expect.poll(() => prometheus.queryAll(query), { message: query }).not.toEqual([]);
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

/** Waits until an expression has one value, which is as expected. */
async function until(
  prometheus: Prometheus,
  expression: string,
  isExpected: (value: number) => boolean,
): Promise<void> {
  const poll = expect.poll(async () => (await prometheus.query(expression))[0]?.values[0] ?? Number.NaN, {
    message: expression,
  });
  await poll.toSatisfy(isExpected);
}

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

describe("the alert rules of examples/observability", () => {
  it("are valid, and each of them fires and ends as its tests say", () => {
    for (const args of [
      ["check", "rules", "rules.yml"],
      ["test", "rules", "rules.test.yml"],
    ]) {
      const { code, output } = promtool(folder, ...args);
      expect(code, output).toBe(0);
    }
  });
});
