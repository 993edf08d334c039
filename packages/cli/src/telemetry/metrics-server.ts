import type { IncomingMessage, ServerResponse } from "node:http";
import type { TextHandler } from "@esim-webhooks/core/health";
import { closeServer } from "@esim-webhooks/core/internal";
import type { Runner } from "@esim-webhooks/core/run";
import type { MetricsFlags } from "../flags/flag-kinds.ts";
import type { Output } from "../program/context.ts";
import { openSideServer, requestedPath } from "../program/http-server.ts";
import { invalidUsage } from "../program/program-error.ts";
import { missingPackages } from "./missing-packages.ts";
import { measured, type Watched } from "./watched.ts";

const packages = [
  "@esim-webhooks/otel",
  "@opentelemetry/api",
  "@opentelemetry/sdk-metrics",
  "@opentelemetry/exporter-prometheus",
];

/** Throws `invalid_usage` for flags without effect, and if a package is missing: before anything is opened. */
export function checkMetricsFlags({ metricsPort, metricsHost }: MetricsFlags): void {
  if (metricsPort === undefined) {
    if (metricsHost === undefined) return;
    throw invalidUsage(
      "--metrics-host has no effect without --metrics-port.",
      "Add --metrics-port, or remove it.",
    );
  }
  const missing = missingPackages(packages);
  if (missing.length === 0) return;
  throw invalidUsage(
    `--metrics-port needs packages that are not installed: ${missing.join(", ")}.`,
    `Next to @esim-webhooks/cli, run: npm install ${missing.join(" ")}`,
  );
}

/**
 * Serves `/metrics` for Prometheus and the probes `/livez` and `/readyz`, if `--metrics-port` asks for them: on loopback, unless
 * `--metrics-host` names another address. Returns a function that stops the server. Throws `cannot_listen`.
 */
export async function serveMetrics(
  { metricsPort: port, metricsHost: host = "127.0.0.1" }: MetricsFlags,
  watched: Watched,
  { liveness, readiness }: Runner,
  output: Output,
): Promise<() => Promise<void>> {
  if (port === undefined) return async () => {};
  const { metricsHandler } = await import("@esim-webhooks/otel/prometheus");
  const metrics = await metricsHandler(measured(watched));
  const handlers = new Map<string, TextHandler>([
    ["/metrics", metrics],
    ["/livez", liveness],
    ["/readyz", readiness],
  ]);
  const paths = [...handlers.keys()].join(", ");
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const handler = handlers.get(requestedPath(request.url));
    if (request.method !== "GET" && request.method !== "HEAD")
      response.writeHead(405, { allow: "GET, HEAD" }).end();
    else if (handler !== undefined) void handler.node(request, response);
    else response.writeHead(404, { "content-type": "text/plain" }).end(`There are: ${paths}\n`);
  };
  try {
    const flags = { host: "--metrics-host", port: "--metrics-port" };
    const { url, server } = await openSideServer(answer, { host, port, flags });
    output.note(`Metrics at ${url}/metrics, probes at /livez and /readyz`);
    return async () => {
      await closeServer(server);
      await metrics.close();
    };
  } catch (error) {
    await metrics.close();
    throw error;
  }
}
