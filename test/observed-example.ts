// examples/observability as it runs for a team: its processes, the service, its database, and the Prometheus that scrapes it.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@esim-webhooks/client";
import type { KeyRecord } from "@esim-webhooks/core";
import { stateKeySource } from "@esim-webhooks/core/key-state";
import { newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { startSandbox } from "@esim-webhooks/sandbox";
import { postgresInbox, postgresState } from "@esim-webhooks/store-postgres";
import { expect, onTestFinished } from "vitest";
import { type Run, root, runNode } from "./run.ts";
import { startPostgres } from "./servers/index.ts";
import { freePort } from "./servers/kept-server.ts";
import { type Prometheus, privatePrometheus } from "./servers/prometheus.ts";

export const exampleFolder: string = join(root, "examples/observability");
/** The rules of alerts and the dashboard for Grafana. */
export const monitoringFolder: string = join(root, "packages/otel/monitoring");

/** The example without its processes, which `start` starts. The sandbox's clock is manual. */
export async function startExample() {
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
  const port = await freePort();
  const metricsPorts = [await freePort(), await freePort()] as const;
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

  async function start(name: "receiver" | "worker"): Promise<Run> {
    const run = runNode([`examples/observability/${name}.ts`], {
      ...environment,
      ESIM_ENDPOINT: endpoint,
      METRICS_PORT: String(metricsPorts[name === "receiver" ? 0 : 1]),
    });
    onTestFinished(async () => {
      run.child.kill("SIGKILL");
      await run.ended;
    });
    await run.line(/^(receiving|working)$/);
    return run;
  }

  let esims = 0;
  /** Emits an event of an eSIM of its own, so that no event waits behind another one. */
  function emit(type: string, changes: object = {}) {
    esims += 1;
    const data = { ...sampleData(type as "esim.enabled"), esimReference: `esim_${esims}`, ...changes };
    return sandbox.emit({ type, data });
  }

  async function changeKeys(next: (record: KeyRecord) => KeyRecord): Promise<void> {
    const stored = await keys.read();
    if (stored === undefined) throw new Error("There are no keys.");
    await keys.write(next(stored.record), stored.version);
  }

  /** Replaces the secret of the endpoint. Both keys are valid then. Returns the new one. */
  async function rotate(): Promise<string> {
    const { signingSecret } = await api.webhooks.rotateSecret(endpoint);
    await changeKeys(({ keys }) => ({ keys: [...keys, signingSecret] }));
    return signingSecret;
  }

  /** Ends the endpoint's first key. The service uses it once more. */
  async function endFirstKey(): Promise<void> {
    const endedAt = new Date(Date.now() - 1000).toISOString();
    await changeKeys(({ keys }) => ({
      keys: keys.map((key) =>
        typeof key === "object" && key.endpoint === endpoint ? { ...key, notAfter: endedAt } : key,
      ),
    }));
    const forged = { id: "msg_forged_later", type: "esim.enabled", data: {} };
    await fetch(url, signedRequest(forged, { secret: newSecret() })); // an unknown signature makes the receiver load its keys again
    sandbox.faults.add({ kind: "old_signature" });
    await emit("esim.enabled");
    await sandbox.settled();
  }

  const service = { sandbox, api, endpoint, delivered, emit };
  return { ...service, database, inbox, state, url, metricsPorts, start, rotate, endFirstKey };
}

/** Scrapes the example once a second, and further processes on this machine. */
export async function watchExample(
  [receiver, worker, ...others]: readonly [number, number, ...number[]],
  rules: string,
): Promise<Prometheus> {
  const config = (await readFile(join(exampleFolder, "prometheus.yml"), "utf8"))
    .replace("../../packages/otel/monitoring/rules.yml", "rules.yml")
    .replaceAll("15s", "1s")
    .replace("127.0.0.1:9464", `127.0.0.1:${receiver}`)
    .replace("127.0.0.1:9465", `127.0.0.1:${worker}`);
  const more = others.map((port) => `      - targets: ["127.0.0.1:${port}"]\n`).join("");
  const prometheus = await privatePrometheus(`${config.trimEnd()}\n${more}`, rules);
  onTestFinished(() => prometheus.close());
  return prometheus;
}

/** Waits until an expression has one value, which is as expected. */
export async function until(
  prometheus: Prometheus,
  expression: string,
  isExpected: (value: number) => boolean,
): Promise<void> {
  const poll = expect.poll(async () => (await prometheus.query(expression))[0]?.values[0] ?? Number.NaN, {
    message: expression,
  });
  await poll.toSatisfy(isExpected);
}
