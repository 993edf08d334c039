import type { IncomingMessage, ServerResponse } from "node:http";
import type { Logger } from "@esim-webhooks/core";
import { livenessHandler, readinessHandler, type TextHandler } from "@esim-webhooks/core/health";
import type { Output } from "../program/context.ts";
import { openServer, requestedPath } from "../program/http-server.ts";
import { ProgramError } from "../program/program-error.ts";
import { missingPackages } from "./missing-packages.ts";
import { measured, type Watched } from "./watched.ts";

export interface MetricsFlags {
  readonly metricsPort?: number;
  readonly metricsHost?: string;
}

const packages = [
  "@esim-webhooks/otel",
  "@opentelemetry/api",
  "@opentelemetry/sdk-metrics",
  "@opentelemetry/exporter-prometheus",
];

/** Throws `invalid_usage` for flags that cannot have an effect: before anything is opened. */
export function checkMetricsFlags({ metricsPort, metricsHost }: MetricsFlags): void {
  if (metricsPort === undefined) {
    if (metricsHost === undefined) return;
    throw new ProgramError(
      "invalid_usage",
      "--metrics-host has no effect without --metrics-port.",
      "Add --metrics-port, or remove it.",
    );
  }
  const missing = missingPackages(packages);
  if (missing.length === 0) return;
  throw new ProgramError(
    "invalid_usage",
    `--metrics-port needs packages that are not installed: ${missing.join(", ")}.`,
    `Next to @esim-webhooks/cli, run: npm install ${missing.join(" ")}`,
  );
}

/**
 * Serves `/metrics` for Prometheus and the probes `/livez` and `/readyz`, if `--metrics-port` asks for them: on loopback, unless
 * `--metrics-host` names another address. Returns a function that stops it. Throws `cannot_listen`.
 */
export async function serveMetrics(
  { metricsPort: port, metricsHost: host = "127.0.0.1" }: MetricsFlags,
  watched: Watched,
  output: Output,
  logger: Logger,
): Promise<() => Promise<void>> {
  if (port === undefined) return async () => {};
  const { receiver, inbox, store, worker, signal } = watched;
  const { metricsHandler } = await import("@esim-webhooks/otel/prometheus");
  const metrics = await metricsHandler(measured(watched));
  const { inbox: gauged } = measured(watched);
  const live = livenessHandler({ ...(worker && { worker }), ...(gauged && { inbox: gauged }), logger });
  const ready = readinessHandler({
    ...(receiver && { receiver }),
    ...(inbox && { inbox }),
    ...(store && { store }),
    signal,
    logger,
  });
  const handlers = new Map<string, TextHandler>([
    ["/metrics", metrics],
    ["/livez", live],
    ["/readyz", ready],
  ]);
  const paths = [...handlers.keys()].join(", ");
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const handler = handlers.get(requestedPath(request.url));
    if (handler !== undefined) void handler.node(request, response);
    else response.writeHead(404, { "content-type": "text/plain" }).end(`There are: ${paths}\n`);
  };
  async function close(): Promise<void> {
    live.close();
    await metrics.close();
  }
  try {
    const flags = { host: "--metrics-host", port: "--metrics-port" };
    const server = await openServer(answer, { host, port, flags });
    output.note(`Metrics at ${server.url}/metrics, probes at /livez and /readyz`);
    return async () => {
      await server.close();
      await close();
    };
  } catch (error) {
    await close();
    throw error;
  }
}
