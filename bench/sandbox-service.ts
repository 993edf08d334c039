// The service of the sandbox bench, in its own process. It does what messages ask for, and answers each with a figure.
import { sampleData } from "@esim-webhooks/core/testing";
import { addClient } from "../packages/sandbox/src/account/clients.ts";
import { issueToken } from "../packages/sandbox/src/account/tokens.ts";
import { createApi } from "../packages/sandbox/src/api/api.ts";
import { createRateLimits } from "../packages/sandbox/src/api/call/rate-limit.ts";
import { runningClock } from "../packages/sandbox/src/base/clock.ts";
import { openDatabase } from "../packages/sandbox/src/base/database.ts";
import { createFaults } from "../packages/sandbox/src/base/faults.ts";
import { seededRandom } from "../packages/sandbox/src/base/random.ts";
import type { Service } from "../packages/sandbox/src/base/service.ts";
import { switchesSchema } from "../packages/sandbox/src/base/switches.ts";
import { listen } from "../packages/sandbox/src/listener.ts";
import { createHttpClient } from "../packages/sandbox/src/sender/http-client.ts";
import { createSender } from "../packages/sandbox/src/sender/sender.ts";
import { emitEvent } from "../packages/sandbox/src/webhook/emit.ts";
import { createEndpoint } from "../packages/sandbox/src/webhook/endpoints.ts";

/** An order of the bench. */
export type Order = { readonly order: "bare" | "send" | "fill"; readonly count: number };
/** The answer to an order. */
export interface Figures {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly rssMb: number;
}

const atOnce = 64;
const [url = ""] = process.argv.slice(2);
const service: Service = {
  db: openDatabase(),
  clock: runningClock(1),
  switches: switchesSchema.parse({ rateLimit: "off" }),
  random: seededRandom(1),
  onDue: () => {},
};
const { clientId, clientSecret } = addClient(service);
const { webhookEndpointReference } = createEndpoint(service, clientId, { url, eventTypes: ["esim.enabled"] });
const faults = createFaults(service.random);
const sender = createSender(service, faults);
const api = await listen(createApi(service, faults, sender, createRateLimits(service)), 0, {
  name: "the API",
  option: "",
});
const event = { type: "esim.enabled", data: sampleData("esim.enabled") };

/** The same requests with no state: the client alone. */
async function bare(count: number): Promise<void> {
  const client = createHttpClient();
  const body = Buffer.from(JSON.stringify({ timestamp: new Date().toISOString(), ...event }));
  const headers = {
    "content-type": "application/json",
    "user-agent": "esim-webhooks-sandbox",
    "webhook-id": "msg_4pYQbW1cT3rZ8kHn0sVx2uLd",
    "webhook-timestamp": "1795305600",
    "webhook-signature": `v1,${"A".repeat(43)}=`,
  };
  let left = count;
  async function one(): Promise<void> {
    while (left-- > 0)
      await client.post({ url, headers, body, fault: undefined, deadline: performance.now() + 30_000 });
  }
  await Promise.all(Array.from({ length: atOnce }, one));
  await client.close();
}

/** Events are emitted as calls would, a few in each tick of the event loop, and are sent meanwhile. */
async function send(count: number): Promise<void> {
  for (let left = count; left > 0; left -= 10) {
    service.db.transaction(() => {
      for (let n = 0; n < 10; n++) emitEvent(service, clientId, event);
    });
    if (left % 1000 === 0)
      await sender.settle(); // no backlog of all of them
    else await new Promise(setImmediate);
  }
  await sender.settle();
}

/** Deliveries that have been answered. Resolves when those beyond the bound are forgotten. */
async function fill(count: number): Promise<void> {
  for (let left = count; left > 0; left -= 1000) {
    service.db.transaction(() => {
      for (let n = 0; n < 1000; n++) emitEvent(service, clientId, event);
      service.db.run(
        `update deliveries set status = 'delivered', attemptNumber = 1, httpStatus = 200, responseBody = '{"outcome":"processed"}',
           sentAt = createdAt, deliveredAt = createdAt, dueAt = null where dueAt is not null`,
      );
    });
  }
  await sender.settle();
}

const orders = { bare, send, fill };
process.on("disconnect", () => process.exit());
process.on("message", async ({ order, count }: Order) => {
  const cpu = process.cpuUsage();
  const start = performance.now();
  await orders[order](count);
  const { user, system } = process.cpuUsage(cpu);
  const figures: Figures = {
    seconds: (performance.now() - start) / 1000,
    cpuSeconds: (user + system) / 1_000_000,
    rssMb: process.memoryUsage().rss / 1024 / 1024,
  };
  process.send?.(figures);
});
const { accessToken } = issueToken(service, clientId, clientSecret);
process.send?.({
  listing: `${api.url}/api/v3/management/webhooks/${webhookEndpointReference}/deliveries?limit=100`,
  accessToken,
});
