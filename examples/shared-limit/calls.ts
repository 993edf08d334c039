// Several processes with one client id share its token and its 10 calls a second, in Redis. Start it more than once.
// Needs REDIS_URL, ESIM_API_URL, ESIM_CLIENT_ID and ESIM_CLIENT_SECRET. Everyone who can read this Redis can read the token.
import { createClient, createLimiter, observeCalls } from "@esim-webhooks/client";
import { consoleLogger } from "@esim-webhooks/core";
import { budget } from "./budget.ts";
import { exchange } from "./exchange.ts";
import { redis } from "./redis.ts";

let attempts = 0;
observeCalls((call) => {
  if (call.operation === "client.get") attempts += call.attempts ?? 0;
});
const api = createClient({ exchange, limiter: createLimiter({ budget, logger: consoleLogger() }) });
await Promise.all(Array.from({ length: 20 }, () => api.client.get()));
console.log(`20 calls in ${attempts} attempts`);
redis.disconnect();
