import type { IncomingMessage, ServerResponse } from "node:http";
import { WebhookError } from "@esim-webhooks/core";
import { type InstrumentOptions, instrument } from "./instrument.ts";

/** Answers a scrape of Prometheus. */
export interface MetricsHandler {
  /** For fetch: Hono, Next.js, Bun, Deno. */
  (request?: Request): Promise<Response>;
  /** For Node.js and Express: `app.get("/metrics", metrics.node)`. For Fastify: `metrics.node(request.raw, reply.raw)`. */
  readonly node: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  /** Stops recording. */
  close(): Promise<void>;
}

const contentType = "text/plain; version=0.0.4; charset=utf-8";

/**
 * Instruments this process, and serves its metrics in the text format of Prometheus. Makes spans too, if an SDK with a tracer provider
 * was started. Anyone who can reach it sees event types and counts: mount it where only your Prometheus reaches it.
 *
 * Rejects with `invalid_option` unless `@opentelemetry/sdk-metrics` and `@opentelemetry/exporter-prometheus` are installed.
 */
export async function metricsHandler(
  options: Omit<InstrumentOptions, "meterProvider"> = {},
): Promise<MetricsHandler> {
  const { MeterProvider } = await optional(() => import("@opentelemetry/sdk-metrics"));
  const { PrometheusExporter, PrometheusSerializer } = await optional(
    () => import("@opentelemetry/exporter-prometheus"),
  );
  const exporter = new PrometheusExporter({ preventServerStart: true });
  const meterProvider = new MeterProvider({ readers: [exporter] });
  const stop = instrument({ ...options, meterProvider });
  const serializer = new PrometheusSerializer("", false, undefined, true, true);

  /** The text, and the status: 500 if something could not be asked for, such as an inbox that does not answer. */
  async function scrape(): Promise<{ readonly status: number; readonly text: string }> {
    const { resourceMetrics, errors } = await exporter.collect();
    const text = serializer.serialize(resourceMetrics);
    return {
      status: 200,
      text: errors.length === 0 ? text : `${text}# ${errors.length} metrics could not be read\n`,
    };
  }

  const handler = async (): Promise<Response> => {
    const { status, text } = await scrape();
    return new Response(text, {
      status,
      headers: { "content-type": contentType, "cache-control": "no-store" },
    });
  };
  return Object.assign(handler, {
    async node(_: IncomingMessage, response: ServerResponse) {
      const { status, text } = await scrape();
      response.writeHead(status, { "content-type": contentType, "cache-control": "no-store" }).end(text);
    },
    async close() {
      stop();
      await meterProvider.shutdown();
    },
  });
}

async function optional<Module>(load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch (cause) {
    throw new WebhookError(
      "invalid_option",
      "metricsHandler needs two packages that are not installed with @esim-webhooks/otel.",
      "Run: npm install @opentelemetry/sdk-metrics @opentelemetry/exporter-prometheus",
      { cause },
    );
  }
}
