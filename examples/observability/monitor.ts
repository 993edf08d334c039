// What Prometheus and Kubernetes ask a process for, on a port of its own: deliveries come from outside, these do not. And its spans.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Worker } from "@esim-webhooks/core";
import { instrument } from "@esim-webhooks/otel";
import { metricsHandler } from "@esim-webhooks/otel/prometheus";
import { context } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { BatchSpanProcessor, ConsoleSpanExporter, TracerProvider } from "@opentelemetry/sdk-trace";
import { inbox } from "./inbox.ts";

context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
const tracerProvider = new TracerProvider({
  spanProcessors: [new BatchSpanProcessor({ exporter: new ConsoleSpanExporter() })], // put the exporter of your collector here
});

export interface Monitored {
  readonly worker?: Worker;
  /** Aborts when the process begins to stop. */
  readonly signal: AbortSignal;
}

/** Serves /metrics, /livez and /readyz. Returns a function that stops it. */
export async function monitor({ worker, signal }: Monitored): Promise<() => Promise<void>> {
  const stop = instrument({ tracerProvider });
  const metrics = await metricsHandler({ inbox, ...(worker && { worker }) });
  const routes: Readonly<Record<string, (request: IncomingMessage, response: ServerResponse) => unknown>> = {
    "/metrics": metrics.node,
    "/livez": (_, response) => response.writeHead(worker?.isHealthy() === false ? 503 : 200).end(),
    "/readyz": async (_, response) => {
      const isUp = await inbox.gauges().then(
        () => true,
        () => false,
      );
      response.writeHead(isUp && !signal.aborted ? 200 : 503).end();
    },
  };
  const server = createServer((request, response) => {
    const answer = routes[request.url ?? ""];
    if (answer === undefined) response.writeHead(404).end();
    else void answer(request, response);
  });
  const [port, host] = [
    Number(process.env["METRICS_PORT"] ?? 9464),
    process.env["METRICS_HOST"] ?? "127.0.0.1",
  ];
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(port, host, resolve));
  return async () => {
    server.close();
    stop();
    await metrics.close();
    await tracerProvider.shutdown(); // sends the last spans
  };
}
