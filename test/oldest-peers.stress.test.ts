import { createRequire } from "node:module";
import { join } from "node:path";
import { receiverSuite } from "@esim-webhooks/conformance";
import { describe, expect, it, vi } from "vitest";
import { installed } from "./installed.ts";

// the oldest versions that the packages support, in place of those that they are developed with
const require = createRequire(join(installed("test/oldest-peers"), ".."));
const load = (name: string) => import(require.resolve(name));
vi.doMock("express4", () => load("express"));
for (const name of ["fastify", "kysely", "@opentelemetry/api", "@opentelemetry/exporter-prometheus"]) {
  vi.doMock(name, () => load(name));
}

const { transports } = await import("./transports.ts");
for (const name of ["Express 4", "Fastify"] as const) {
  receiverSuite(`the oldest ${name}`, transports[name], { describe: describe.concurrent, it });
}
describe("on the oldest Kysely", async () => {
  await import("../packages/store-postgres/test/postgres-inbox.suite.servers.test.ts");
});
describe("on the oldest OpenTelemetry", async () => {
  await import("../packages/otel/test/prometheus.test.ts");
});

it("has run on the oldest versions", async () => {
  expect((await import("express4")).default).toBe((await load("express")).default);
  expect((await import("fastify")).fastify).toBe((await load("fastify")).fastify);
  expect((await import("kysely")).Kysely).toBe((await load("kysely")).Kysely);
  expect((await import("@opentelemetry/api")).metrics).toBe((await load("@opentelemetry/api")).metrics);
});

it("starts and stops the oldest SDK as the command line does", async () => {
  const { NodeSDK } = await load("@opentelemetry/sdk-node");
  const sdk = new NodeSDK();
  sdk.start();
  await expect(sdk.shutdown()).resolves.toBeUndefined();
});
