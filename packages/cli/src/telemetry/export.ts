import { WebhookError } from "@esim-webhooks/core";
import { createDeadline } from "@esim-webhooks/core/engine";
import type { CliContext } from "../program/context.ts";
import { missingPackages } from "./missing-packages.ts";
import { measured, type Watched } from "./watched.ts";

/** The part of `@opentelemetry/sdk-node` that is used. */
interface Sdk {
  readonly NodeSDK: new () => { start(): void; shutdown(): Promise<void> };
}

const sdkPackage = "@opentelemetry/sdk-node";
const packages = ["@esim-webhooks/otel", "@opentelemetry/api", sdkPackage];
const flushMs = 5000;

/** The variables of OpenTelemetry that ask for an export, like those in `endpoints`. All others, such as a service name, only configure it. */
const exporters = ["OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER"];
const endpoints = [
  "OTEL_EXPORTER_OTLP_ENDPOINT",
  "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
  "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
];

/** The variable that asks for an export; undefined if none does. */
function askedBy(env: NodeJS.ProcessEnv): string | undefined {
  if (env["OTEL_SDK_DISABLED"]?.toLowerCase() === "true") return undefined;
  const isSet = (name: string) => ![undefined, "", "none"].includes(env[name]?.trim());
  return [...exporters, ...endpoints].find(isSet);
}

/**
 * Exports spans and metrics with OpenTelemetry's SDK, if the environment asks for it and the SDK is installed. An SDK that
 * `node --import` has started is used as it is. Without the SDK, or if it fails, only warns: deliveries are more important. Returns a
 * function that exports what is left, and stops the SDK.
 */
export async function exportTelemetry(
  { output, process }: CliContext,
  watched: Watched,
): Promise<() => Promise<void>> {
  const variable = askedBy(process.env);
  if (variable === undefined) return async () => {};
  const missing = missingPackages(packages);
  if (missing.length > 0) {
    output.note(
      `Warning (nothing_exported): ${variable} asks for an export by OpenTelemetry, and these packages are not installed: ${missing.join(", ")}. ` +
        `Next to @esim-webhooks/cli, run: npm install ${missing.join(" ")}`,
    );
    return async () => {};
  }
  try {
    const sdk = (await isStarted()) ? undefined : await startSdk();
    const { instrument } = await import("@esim-webhooks/otel");
    const stop = instrument(measured(watched));
    return async () => {
      await createDeadline(flushMs).before(Promise.resolve(sdk?.shutdown()).catch(() => {})); // the collector may be down
      stop(); // after the last export, which collects the counters
    };
  } catch (error) {
    if (!isInstrumented(error)) output.note(`Warning (nothing_exported): ${output.describe(error)}`);
    return async () => {};
  }
}

async function startSdk(): Promise<InstanceType<Sdk["NodeSDK"]>> {
  const { NodeSDK } = (await import(sdkPackage)) as Sdk;
  const sdk = new NodeSDK(); // it reads the variables
  sdk.start();
  return sdk;
}

/** Whether an SDK has registered itself. */
async function isStarted(): Promise<boolean> {
  const { createNoopMeter, metrics, ProxyTracerProvider, trace } = await import("@opentelemetry/api");
  const tracers = trace.getTracerProvider();
  const hasTracers =
    !(tracers instanceof ProxyTracerProvider) || tracers.getDelegateTracer(name) !== undefined;
  return hasTracers || metrics.getMeter(name) !== createNoopMeter();
}

const name = "esim-webhooks";

/** Whether the error says that the config has called `instrument` itself. */
function isInstrumented(error: unknown): boolean {
  return WebhookError.is(error) && error.where === "instrument";
}
