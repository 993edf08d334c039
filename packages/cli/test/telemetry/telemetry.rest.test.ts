import { existsSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { entry } from "../../../../test/inbox-entry.ts";
import { startPostgres } from "../../../../test/servers/index.ts";
import { signedDelivery } from "../../../../test/support/signed-delivery.ts";
import { cli, cliProcess, folder, jsonLines, type Running, secret, start } from "../cli.ts";

const receiving = async (running: Running) => (await running.written(/Listening at (\S+)/))[1] ?? "";
const metricsAt = async (running: Running) => (await running.written(/Metrics at (\S+)\/metrics/))[1] ?? "";

/** The status of a probe, and the checks that fail, with their codes. */
async function probed(url: string): Promise<readonly [number, ...string[]]> {
  const response = await fetch(url);
  const { checks } = (await response.json()) as { checks: { name: string; code?: string }[] };
  return [response.status, ...checks.flatMap(({ name, code }) => (code ? [`${name}: ${code}`] : []))];
}

const deliver = (url: string) => fetch(url, signedDelivery(secret));

async function stopped(running: Running) {
  running.child.kill("SIGTERM");
  const ended = await running.ended;
  expect(ended.code).toBe(0);
  return ended;
}

/** Arguments for Node.js: each package is replaced by a file, or is not installed. */
function withPackages(packages: Readonly<Record<string, string | null>>): readonly string[] {
  const hook = `import { registerHooks } from "node:module";
    const packages = ${JSON.stringify(packages)};
    registerHooks({ resolve(name, context, next) {
      const file = packages[name];
      if (file === null) throw Object.assign(new Error("Cannot find package " + name), { code: "ERR_MODULE_NOT_FOUND" });
      return next(file ?? name, context);
    } });`;
  return ["--import", `data:text/javascript,${encodeURIComponent(hook)}`];
}

const sdk = pathToFileURL(join(import.meta.dirname, "../fixtures/otel-sdk.ts")).href;

describe("--metrics-port", () => {
  it("serves the metrics and both probes of serve on loopback; it is not ready as soon as it stops, while a delivery ends", async () => {
    const config = `import { existsSync } from "node:fs";
      export default { port: 0, handlers: { "esim.faulted": async () => {
        process.stderr.write("begun\\n");
        while (!existsSync("go")) await new Promise((resolve) => setTimeout(resolve, 20));
      } } };`;
    const cwd = folder({ "esim-webhooks.config.ts": config });
    const running = start(["serve", "--metrics-port", "0"], { cwd });
    const [url, metrics] = [await receiving(running), await metricsAt(running)];
    await running.written(/Metrics at [\s\S]*Listening at/); // what watches it is there before the first delivery
    expect(metrics).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(await probed(`${metrics}/livez`)).toEqual([200]);
    await expect.poll(() => probed(`${metrics}/readyz`)).toEqual([200]);
    const delivered = deliver(url);
    await running.written(/begun/);
    running.child.kill("SIGTERM");
    await running.written(/Stopping/);
    await expect
      .poll(() => probed(`${metrics}/readyz`))
      .toEqual([503, "process: shutting_down", "receiver: shutting_down"]);
    expect(await probed(`${metrics}/livez`)).toEqual([200]);
    writeFileSync(join(cwd, "go"), "");
    expect((await delivered).status).toBe(200);
    expect((await running.ended).code).toBe(0);
  });

  it("serves the metrics of deliveries and of the worker, and answers 404 with the paths that there are", async () => {
    const config = `export default { port: 0, handlers: { "esim.faulted": () => {} } };`;
    const running = start(["serve", "--metrics-port", "0"], {
      cwd: folder({ "esim-webhooks.config.ts": config }),
    });
    const [url, metrics] = [await receiving(running), await metricsAt(running)];
    expect((await deliver(url)).status).toBe(200);
    const isUp = async () => (await fetch(`${metrics}/metrics`)).text();
    await expect.poll(isUp).toMatch(/^esim_webhooks_inbox_up 1$/m); // its first read has started a thread
    const response = await fetch(`${metrics}/metrics/?x=1`);
    expect(response.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
    const text = await response.text();
    expect(text).toMatch(/^esim_webhooks_deliveries_total\{outcome="processed",type="esim.faulted"\} 1$/m);
    expect(text).toMatch(/^esim_webhooks_worker_slots\{state="free"\} 20$/m);
    const missed = await fetch(metrics);
    expect([missed.status, await missed.text()]).toEqual([404, "There are: /metrics, /livez, /readyz\n"]);
    await stopped(running);
  });

  it("of work shows that abandoned handlers fill its slots, and logs it once", async () => {
    const config = `export default { worker: { concurrency: 1, timeoutMs: 5, graceMs: 0, maxAttempts: 1 },
      handlers: { "*": () => new Promise(() => {}) } };`;
    const cwd = folder({ "esim-webhooks.config.ts": config });
    expect((await cli(["migrate"], { cwd })).code).toBe(0);
    const inbox = sqliteInbox({ path: join(cwd, ".esim-webhooks/events.db") });
    onTestFinished(() => inbox.close());
    const running = start(["work", "--metrics-port", "0"], { cwd });
    const metrics = await metricsAt(running);
    expect(await probed(`${metrics}/livez`)).toEqual([200]);
    await inbox.put([entry("msg_hangs")]);
    await expect.poll(() => probed(`${metrics}/livez`)).toEqual([503, "worker: handlers_abandoned"]);
    expect(await probed(`${metrics}/livez`)).toEqual([503, "worker: handlers_abandoned"]);
    await expect.poll(() => probed(`${metrics}/readyz`)).toEqual([200]);
    const lines = jsonLines(await stopped(running));
    expect(lines.filter(({ code }) => code === "handlers_abandoned")).toMatchObject([
      { level: "warn", probe: "liveness", check: "worker", msg: expect.stringContaining("Restart it") },
    ]);
  });

  it("is not ready while its Postgres hangs, stays live, and is ready again afterwards", async () => {
    const server = await startPostgres();
    onTestFinished(() => server.close());
    const running = start(["serve", "--port", "0", "--metrics-port", "0"], {
      env: { DATABASE_URL: server.url },
    });
    const metrics = await metricsAt(running);
    await expect.poll(() => probed(`${metrics}/readyz`)).toEqual([200]);
    await server.pause();
    await expect.poll(() => probed(`${metrics}/readyz`)).toEqual([503, "inbox: store_unavailable"]);
    expect(await probed(`${metrics}/livez`)).toEqual([200]);
    await server.resume();
    await expect.poll(() => probed(`${metrics}/readyz`)).toEqual([200]);
    await stopped(running);
  });

  it("that is taken ends the command with a message that names the flag", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    onTestFinished(() => void other.close());
    await new Promise((resolve) => other.once("listening", resolve));
    const { port } = other.address() as AddressInfo;
    const { code, stderr } = await cli(["serve", "--port", "0", "--metrics-port", String(port)]);
    expect(code).toBe(1);
    expect(stderr).toContain(
      `Error (cannot_listen): Cannot listen on 127.0.0.1, port ${port}. Choose a free port with --metrics-port (0: any), or an address of this machine with --metrics-host.`,
    );
  });

  it("without its packages ends the command before anything is opened, and names those that are missing", async () => {
    const cwd = folder();
    const node = withPackages({ "@esim-webhooks/otel": null, "@opentelemetry/exporter-prometheus": null });
    const { code, stderr } = await cliProcess(["serve", "--port", "0", "--metrics-port", "0"], { cwd, node });
    expect(code).toBe(2);
    const missing = ["@esim-webhooks/otel", "@opentelemetry/exporter-prometheus"];
    expect(stderr.trim()).toBe(
      `Error (invalid_usage): --metrics-port needs packages that are not installed: ${missing.join(", ")}. ` +
        `Next to @esim-webhooks/cli, run: npm install ${missing.join(" ")}`,
    );
    expect(existsSync(join(cwd, ".esim-webhooks"))).toBe(false);
  });

  it("is what --metrics-host needs", async () => {
    const { code, stderr } = await cli(["work", "--metrics-host", "0.0.0.0"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("Add --metrics-port, or remove it.")]);
  });
});

/** A collector of OpenTelemetry that keeps what it has received, by path. */
async function startCollector() {
  const bodies: { readonly path: string | undefined; readonly body: string }[] = [];
  const server = createServer(async (request, response) => {
    bodies.push({ path: request.url, body: await text(request) });
    response.setHeader("content-type", "application/json").end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received: (path: string) => bodies.flatMap((each) => (each.path === path ? [each.body] : [])).join("\n"),
  };
}

describe("the OTEL_ variables", () => {
  const env = { OTEL_TRACES_EXPORTER: "otlp" };

  it("export spans of serve and work with the SDK, those of the last events too", async () => {
    const cwd = folder({
      "esim-webhooks.config.ts": `export default { handlers: { "esim.faulted": () => {} } };`,
      "receiver.config.ts": "export default { port: 0 };",
    });
    const node = withPackages({ "@opentelemetry/sdk-node": sdk });
    const serving = start(["serve", "--config", "receiver.config.ts"], { cwd, node, env });
    expect((await deliver(await receiving(serving))).status).toBe(202);
    expect((await stopped(serving)).stderr).toMatch(/SDK started\n[\s\S]*exported: send esim-webhooks/);
    const working = start(["work"], { cwd, node, env });
    await working.written(/"outcome":"done"/);
    const { stderr } = await stopped(working);
    for (const name of ["receive", "process", "settle"])
      expect(stderr).toContain(`exported: ${name} esim-webhooks`);
  });

  it("send spans and metrics of serve and work to a collector with OpenTelemetry's own SDK, what is left at the end too", async () => {
    const collector = await startCollector();
    const cwd = folder({
      "esim-webhooks.config.ts": `export default { handlers: { "esim.faulted": () => {} } };`,
      "receiver.config.ts": "export default { port: 0 };",
    });
    const env = {
      OTEL_SERVICE_NAME: "esim",
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    };
    const serving = start(["serve", "--config", "receiver.config.ts"], { cwd, env });
    expect((await deliver(await receiving(serving))).status).toBe(202);
    expect((await stopped(serving)).stderr).not.toContain("Warning");
    expect(collector.received("/v1/traces")).toContain('"name":"send esim-webhooks"');
    expect(collector.received("/v1/metrics")).toContain('"name":"esim_webhooks.deliveries"');
    const working = start(["work"], { cwd, env });
    const [line] = await working.written(/^.*"outcome":"done".*$/m);
    expect((await stopped(working)).stderr).not.toContain("Warning");
    const traces = collector.received("/v1/traces");
    for (const name of ["receive", "process", "settle"])
      expect(traces).toContain(`"name":"${name} esim-webhooks"`);
    expect(traces).toContain('"value":{"stringValue":"esim"}');
    expect(collector.received("/v1/metrics")).toContain('"name":"esim_webhooks.settlements"');
    const { trace_id, span_id } = JSON.parse(line) as Record<string, string>;
    expect(traces).toContain(`"traceId":"${trace_id}","spanId":"${span_id}"`);
  });

  it("start no second SDK next to one that was imported, whose spans there are", async () => {
    const node = [...withPackages({ "@opentelemetry/sdk-node": sdk }), "--import", sdk];
    const running = start(["serve", "--port", "0"], { node, env: { ...env, SDK_BY_IMPORT: "1" } });
    expect((await deliver(await receiving(running))).status).toBe(202);
    const { stderr } = await stopped(running);
    expect(stderr.match(/SDK started/g)).toHaveLength(1);
    expect(stderr).toContain("exported: send esim-webhooks");
  });

  it("without the SDK are a warning with what to install, and deliveries are received", async () => {
    const node = withPackages({ "@opentelemetry/sdk-node": null });
    const running = start(["serve", "--port", "0"], { node, env });
    expect((await deliver(await receiving(running))).status).toBe(202);
    expect((await stopped(running)).stderr).toContain(
      "Warning (nothing_exported): OTEL_TRACES_EXPORTER asks for an export by OpenTelemetry, and these packages are not installed: @opentelemetry/sdk-node. Next to @esim-webhooks/cli, run: npm install @opentelemetry/sdk-node",
    );
  });

  it.each([
    [
      "ask for nothing",
      { OTEL_SERVICE_NAME: "esim", OTEL_TRACES_EXPORTER: "none", OTEL_METRICS_EXPORTER: "" },
    ],
    ["are switched off", { ...env, OTEL_SDK_DISABLED: "TRUE" }],
  ])("that %s start nothing, and there is no warning", async (_, variables) => {
    const node = withPackages({ "@opentelemetry/sdk-node": null });
    const running = start(["serve", "--port", "0"], { node, env: variables });
    await receiving(running);
    expect((await stopped(running)).stderr).not.toContain("Warning");
  });
});
