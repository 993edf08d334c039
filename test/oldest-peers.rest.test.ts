import { receiverSuite } from "@esim-webhooks/conformance";
import { describe, expect, it } from "vitest";
import { putInPlace } from "./older-peers.ts";

const load = putInPlace("test/oldest-peers");

const { transports } = await import("./transports.ts");
for (const name of ["Express 4", "Express 5", "Fastify"] as const) {
  receiverSuite(`the oldest ${name}`, transports[name], { describe: describe.concurrent, it });
}
describe("on the oldest Kysely", async () => {
  await import("../packages/store-postgres/test/postgres-inbox.suite.servers.test.ts");
});
describe("on the oldest OpenTelemetry", async () => {
  await import("../packages/otel/test/prometheus.test.ts");
});

it("starts and stops the oldest SDK as the command line does", async () => {
  const { NodeSDK } = (await load("@opentelemetry/sdk-node")) as typeof import("@opentelemetry/sdk-node");
  const sdk = new NodeSDK();
  sdk.start();
  await expect(sdk.shutdown()).resolves.toBeUndefined();
});
