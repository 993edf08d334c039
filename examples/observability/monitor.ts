// The metrics and probes of a process, on a port of their own, since only deliveries come from outside; and the spans of the process.
import { createServer } from "node:http";
import type { Receiver, Worker } from "@esim-webhooks/core";
import { livenessHandler, readinessHandler } from "@esim-webhooks/core/health";
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
  readonly receiver?: Pick<Receiver, "ready">;
  readonly worker?: Worker;
  /** Aborts when the process begins to stop. */
  readonly signal: AbortSignal;
}

/** Serves /metrics, /livez and /readyz. Returns a function that stops it. */
export async function monitor({ receiver, worker, signal }: Monitored): Promise<() => Promise<void>> {
  const logger = console;
  const stop = instrument({ tracerProvider });
  const metrics = await metricsHandler({ inbox, ...(worker && { worker }) });
  const live = livenessHandler({ inbox, logger, ...(worker && { worker }) });
  const ready = readinessHandler({ inbox, signal, logger, ...(receiver && { receiver }) });
  const routes = new Map<string, Pick<typeof metrics, "node">>([
    ["/metrics", metrics],
    ["/livez", live],
    ["/readyz", ready],
  ]);
  const server = createServer((request, response) => {
    const handler = routes.get(request.url ?? "");
    if (handler === undefined) response.writeHead(404).end();
    else void handler.node(request, response);
  });
  const [port, host] = [
    Number(process.env["METRICS_PORT"] ?? 9464),
    process.env["METRICS_HOST"] ?? "127.0.0.1",
  ];
  server.on("error", (error) => {
    console.error(`The monitor cannot listen: ${error.message}. Set METRICS_PORT to a free port.`);
    process.exit(1);
  });
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  return async () => {
    server.close();
    live.close();
    stop();
    await metrics.close();
    await tracerProvider.shutdown(); // sends the last spans
  };
}
