import { sampleData } from "@esim-webhooks/core/testing";
import { addClient } from "../../packages/sandbox/src/account/clients.ts";
import { basePath, createApi } from "../../packages/sandbox/src/api/api.ts";
import { createRateLimits } from "../../packages/sandbox/src/api/call/rate-limit.ts";
import { runningClock } from "../../packages/sandbox/src/base/clock.ts";
import { openDatabase } from "../../packages/sandbox/src/base/database.ts";
import { createFaults as createServiceFaults } from "../../packages/sandbox/src/base/faults.ts";
import { seededRandom } from "../../packages/sandbox/src/base/random.ts";
import type { Service } from "../../packages/sandbox/src/base/service.ts";
import { switchesSchema } from "../../packages/sandbox/src/base/switches.ts";
import { createSender } from "../../packages/sandbox/src/sender/sender.ts";
import { emitEvent } from "../../packages/sandbox/src/webhook/emit.ts";
import { createEndpoint } from "../../packages/sandbox/src/webhook/endpoints.ts";
import type { CreatedEvent } from "./checks.ts";
import type { Faults } from "./faults.ts";
import type { Random } from "./random.ts";

/** The partner service: the code of the sandbox, without its listeners. */
export interface SimulatedService {
  readonly baseUrl: string;
  readonly credentials: { readonly clientId: string; readonly clientSecret: string };
  readonly endpoint: string;
  /** The secret that the endpoint has now. */
  secret(): string;
  /** Answers a call of the API. */
  serve(request: Request): Response | Promise<Response>;
  emit(): CreatedEvent;
  /** Whether it has something to send, now or later. */
  isSending(): boolean;
  /** No faults of its own from now on. */
  stopFaults(): void;
  close(): Promise<void>;
}

export const eventTypes = [
  "esim.enabled",
  "esim.disabled",
  "esim.installed",
  "esim.balance.updated",
  "esim.mccswitch",
  "esim.deleted",
] as const;

const rotateCall = "POST /management/webhooks/{webhookEndpointReference}/rotate-secret";
const listingCall = "GET /management/webhooks/{webhookEndpointReference}/deliveries";
const esims = 40;

/** Starts the service, with an endpoint that has all event types. Call it when the sender's way is installed. */
export function startService(random: Random, { rates }: Faults): SimulatedService {
  const db = openDatabase();
  const numbers = seededRandom(random.below(2 ** 32));
  const clock = runningClock(1);
  const switches = switchesSchema.parse({ listingLagMs: random.pick([0, 0, 2000]) });
  const service: Service = { db, clock, switches, random: numbers, onDue: () => {} };
  const credentials = addClient(service);
  const faults = createServiceFaults(numbers);
  for (const kind of ["wrong_signature", "old_signature"] as const)
    if (rates.badSignature > 0) faults.add({ kind, probability: rates.badSignature });
  if (rates.duplicate > 0) faults.add({ kind: "duplicate", probability: rates.duplicate });
  if (rates.reorder > 0) faults.add({ kind: "reorder", probability: rates.reorder, waitMs: 20_000 });
  if (rates.callFails > 0) {
    for (const call of [rotateCall, listingCall]) {
      faults.add({ kind: "error", call, status: 500, probability: rates.callFails });
      faults.add({ kind: "error", call, status: 503, done: true, probability: rates.callFails });
      faults.add({ kind: "rate_limit", call, probability: rates.callFails });
    }
  }
  const sender = createSender(service, faults);
  const api = createApi(service, faults, sender, createRateLimits(service));
  const { webhookEndpointReference: endpoint } = createEndpoint(service, credentials.clientId, {
    url: "https://receivers.test/webhooks",
    eventTypes: [...eventTypes],
  });
  let emitted = 0;
  return {
    baseUrl: `https://service.test${basePath}`,
    credentials,
    endpoint,
    secret: () =>
      db.get<{ signingSecret: string }>("select signingSecret from endpoints")?.signingSecret ?? "",
    serve: (request) => api.fetch(request),
    emit() {
      const type = random.pick(eventTypes);
      const number = ++emitted;
      const esimReference = String(730155284096617000 + random.below(esims) * 100);
      const [id = ""] = emitEvent(service, credentials.clientId, {
        type,
        data: { ...sampleData(type), esimReference, number },
      });
      return { id, type, number };
    },
    isSending: () =>
      db.get("select 1 from deliveries where dueAt is not null or status = 'sending' limit 1") !== undefined,
    stopFaults: faults.clear,
    async close() {
      await sender.close();
      db.close();
    },
  };
}
