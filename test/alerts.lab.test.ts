import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createReceiver, createWorker, type EsimEvents, type Handlers } from "@esim-webhooks/core";
import { watchDrift } from "@esim-webhooks/core/drift";
import { newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { reconcile } from "@esim-webhooks/endpoint";
import { metricsHandler } from "@esim-webhooks/otel/prometheus";
import { expect, it, onTestFinished } from "vitest";
import { monitoringFolder, startExample, until, watchExample } from "./observed-example.ts";
import { loggerTo } from "./support/loggers.ts";

const seconds: Readonly<Record<string, number>> = {
  "1m": 1,
  "2m": 2,
  "5m": 3,
  "10m": 6,
  "30m": 4,
  "1h": 10,
  "1d": 120,
  "1w": 600,
  "60": 2,
  "300": 2,
  "900": 2,
  "3600": 90, // time for the pass that notices it, and for a scrape
  "86400": 12, // an inbox notes the last delivery every 10 s
};

/** The rules with seconds in place of minutes, hours and days: in `for`, in windows, in offsets, and where an age is compared. */
function hurried(rules: string): string {
  return rules
    .replaceAll(/(for: |\[|offset )(\d+[mhdw])\b/g, (_, before, time) => `${before}${seconds[time]}s`)
    .replaceAll(/([<>]=? )(60|300|900|3600|86400)$/gm, (_, before, limit) => `${before}${seconds[limit]}`);
}

/** A worker in this process, whose metrics are served: what its handlers do is up to the test. */
async function startOwnWorker(inbox: Awaited<ReturnType<typeof startExample>>["inbox"]) {
  const release: (() => void)[] = [];
  const untilReleased = () => new Promise<void>((resolve) => release.push(resolve));
  const handlers: Handlers<EsimEvents> = {
    "esim.disabled": untilReleased,
    "esim.deleted": (_event, { attempt }) => (attempt === 1 ? untilReleased() : undefined), // hangs once
    "*": () => {},
  };
  const quiet = () => {};
  const logger = loggerTo(quiet);
  const options = {
    concurrency: 1,
    pollMs: 100,
    timeoutMs: 100_000,
    timeouts: { "esim.deleted": 10 },
    graceMs: 10,
    logger,
  };
  const worker = createWorker<EsimEvents>(inbox, handlers, options);
  const metrics = await metricsHandler({ inbox, worker });
  const server = createServer((request, response) => void metrics.node(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const stop = new AbortController();
  let running: Promise<void> | undefined;
  onTestFinished(async () => {
    for (const each of release) each();
    stop.abort();
    await running;
    server.close();
    await metrics.close();
  });
  return {
    server,
    port: (server.address() as AddressInfo).port,
    run() {
      running = worker.run({ signal: stop.signal });
    },
    /** Lets the handlers end that have begun. */
    release() {
      for (const each of release.splice(0)) each();
    },
    hasBegun: () => expect.poll(() => release.length).toBe(1),
  };
}

it("each alert of packages/otel/monitoring fires when its condition begins, and ends with it, as Prometheus sees the running example with minutes as seconds", async () => {
  const startedAt = Date.now();
  const rules = await readFile(join(monitoringFolder, "rules.yml"), "utf8");
  const alerts = Array.from(rules.matchAll(/- alert: (\w+)/g), ([, name = ""]) => name);
  expect(alerts).toHaveLength(18);
  expect(hurried(rules)).not.toContain("undefined");
  const example = await startExample();
  const { database, sandbox, api, endpoint, inbox, state, url, metricsPorts, start, emit } = example;
  const own = await startOwnWorker(inbox);
  const receiving = await start("receiver");
  const worker = await start("worker");
  const prometheus = await watchExample([...metricsPorts, own.port], hurried(rules));
  await until(prometheus, "sum(up)", (count) => count === 3);

  const begun = new Map<string, number>();
  /** Whether an alert has fired in each second, since `isQuiet` was called: `0011100`. */
  async function historyOf(name: string): Promise<string> {
    const firing = `count(ALERTS{alertname="${name}",alertstate="firing"}) or vector(0)`;
    const [series] = await prometheus.queryAll(firing);
    const states = (series?.values ?? []).map((count) => (count > 0 ? 1 : 0));
    return states.slice(begun.get(name)).join("");
  }
  /** Begins the history of alerts that do not fire now. */
  async function isQuiet(...names: string[]): Promise<void> {
    for (const name of names) {
      begun.delete(name);
      let history = "";
      const last = async () => {
        history = await historyOf(name);
        return history.at(-1);
      };
      await expect.poll(last, { message: name }).toBe("0"); // a late scrape may have been an alert
      begun.set(name, history.length);
    }
  }
  const seen = new Set<string>();
  const poll = (name: string) => expect.poll(() => historyOf(name), { message: name });
  const fires = (...names: string[]) => Promise.all(names.map((name) => poll(name).toContain("1")));
  const ends = (...names: string[]) =>
    Promise.all(
      names.map(async (name) => {
        await poll(name).toContain("10");
        seen.add(name);
      }),
    );

  // what a delivery shows, and an event
  await isQuiet("EsimWebhooksDeliveriesRefused", "EsimWebhooksDeadLetters", "EsimWebhooksOldKeyUsed");
  await isQuiet("EsimWebhooksClockSkew", "EsimWebhooksTypePaused", "EsimWebhooksDeliveriesFailed");
  await isQuiet("EsimWebhooksDrift");
  await inbox.pause({ types: ["esim.lifecycle.activated"], reason: "the CRM is down" });
  await emit("esim.enabled", { iccid: 7 }); // does not fit its schema
  for (let n = 0; n < 5; n += 1) {
    const forged = { id: `msg_forged_${n}`, type: "esim.enabled", data: {} };
    expect((await fetch(url, signedRequest(forged, { secret: newSecret() }))).status).toBe(401);
  }
  const secret = await example.rotate();
  await example.endFirstKey();
  const late = { id: "msg_late", type: "esim.enabled", data: sampleData("esim.enabled") };
  const at = new Date(Date.now() - 200_000); // within the tolerance
  expect((await fetch(url, signedRequest(late, { secret, at }))).status).toBe(202);
  // handlers that run inline, in this process
  const inlineSecret = newSecret();
  const receiver = createReceiver(
    { "*": () => Promise.reject(new Error("no luck")) },
    { secret: inlineSecret, drift: watchDrift(state) },
  );
  const newField = { ...late.data, channel: "app" };
  for (let n = 0; n < 5; n += 1) {
    const request = signedRequest(
      { ...late, id: `msg_inline_${n}`, data: newField },
      { secret: inlineSecret },
    );
    expect((await receiver.receive(request)).status).toBe(500);
  }
  await fires("EsimWebhooksDeliveriesFailed");
  const counted = ["EsimWebhooksDeliveriesRefused", "EsimWebhooksDeadLetters", "EsimWebhooksOldKeyUsed"];
  await fires("EsimWebhooksDrift", ...counted, "EsimWebhooksClockSkew");

  // a day of silence
  await fires("EsimWebhooksTypePaused", "EsimWebhooksNoDelivery", "EsimWebhooksReconcileNotRun");
  await inbox.resume({ types: ["esim.lifecycle.activated"] });
  await isQuiet("EsimWebhooksServiceRefused");
  await sandbox.advance(Date.now() - startedAt); // the service was refused now
  sandbox.faults.add({ kind: "wrong_signature", eventType: "esim.downloaded" });
  await emit("esim.downloaded");
  await emit("esim.enabled");
  await sandbox.settled();
  await reconcile(api, endpoint, inbox, { state, since: new Date(Date.now() - 60_000) });
  await ends("EsimWebhooksTypePaused", "EsimWebhooksNoDelivery", "EsimWebhooksReconcileNotRun");
  await fires("EsimWebhooksServiceRefused");
  await ends("EsimWebhooksDrift", "EsimWebhooksClockSkew", "EsimWebhooksDeliveriesFailed", ...counted);

  // a process is gone, and the one that is left takes nothing while its handler runs
  const stalled = ["EsimWebhooksEventsWait", "EsimWebhooksBacklogGrows", "EsimWebhooksWorkerTakesNothing"];
  await isQuiet(...stalled, "EsimWebhooksTargetDown", "EsimWebhooksAbandonedHandlers");
  worker.child.kill("SIGKILL");
  await worker.ended;
  await emit("esim.disabled");
  await sandbox.settled();
  own.run();
  await own.hasBegun();
  await emit("esim.enabled");
  await sandbox.settled();
  await fires(...stalled, "EsimWebhooksTargetDown");
  own.release();
  await ends(...stalled);

  // a handler hangs
  await emit("esim.deleted");
  await sandbox.settled();
  await fires("EsimWebhooksAbandonedHandlers");
  own.release();
  await ends("EsimWebhooksAbandonedHandlers");
  const restarted = await start("worker");
  await ends("EsimWebhooksTargetDown");

  // the inbox is down, and deliveries are answered 503
  const down = ["EsimWebhooksInboxDown", "EsimWebhooksDeliveriesFailed", "EsimWebhooksNothingAccepted"];
  await isQuiet(...down);
  await database.stop();
  for (let n = 0; n < 5; n += 1) await emit("esim.enabled");
  await sandbox.settled();
  await fires(...down);
  await database.start();
  await ends(...down, "EsimWebhooksServiceRefused");

  // no process is left
  await isQuiet("EsimWebhooksNoTarget");
  for (const { child, ended } of [receiving, restarted]) {
    child.kill("SIGKILL");
    await ended;
  }
  own.server.close();
  own.server.closeAllConnections();
  await fires("EsimWebhooksNoTarget");
  await start("worker");
  await ends("EsimWebhooksNoTarget");

  expect([...seen].sort()).toEqual([...alerts].sort());
  expect(await prometheus.ruleErrors()).toEqual([]);
});
