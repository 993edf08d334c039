// Several processes with one client id share its token and its 10 calls a second, in Redis. Start it more than once.
// Needs REDIS_URL, ESIM_API_URL, ESIM_CLIENT_ID and ESIM_CLIENT_SECRET. Whoever can read this Redis can read the token.
import { randomUUID } from "node:crypto";
import {
  type Budget,
  createClient,
  createLimiter,
  observeCalls,
  type TokenExchange,
} from "@esim-webhooks/client";
import { Redis } from "ioredis";

const redis = new Redis(process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379");

const exchange: TokenExchange = async ({ refused }, askService) => {
  const kept = JSON.parse((await redis.get("partner-token")) ?? "null");
  const leftMs = (kept?.endsAt ?? 0) - Date.now();
  if (leftMs > 0 && kept.accessToken !== refused) {
    return { accessToken: kept.accessToken, expiresInSeconds: leftMs / 1000 };
  }
  const token = await askService();
  const lifeMs = Math.floor(token.expiresInSeconds * 1000);
  const { accessToken } = token;
  await redis.set(
    "partner-token",
    JSON.stringify({ accessToken, endsAt: Date.now() + lifeMs }),
    "PX",
    lifeMs,
  );
  return token;
};

// a place's score is when it is free: three seconds after it was taken, or one after its answer
const now = "local t = redis.call('TIME') local now = t[1] * 1000 + math.floor(t[2] / 1000) ";
const take = `${now}
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= 10 then return redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2] - now end
redis.call('ZADD', KEYS[1], now + 3000, ARGV[1])
redis.call('PEXPIRE', KEYS[1], 3000)
return 0`;
const answered = `${now} return redis.call('ZADD', KEYS[1], 'XX', 'LT', now + 1000, ARGV[1])`;

const budget: Budget = {
  async take() {
    const place = randomUUID();
    const waitMs = Number(await redis.eval(take, 1, "partner-calls", place));
    // an answer may free the place earlier than it says
    if (waitMs > 0) return { waitMs: Math.min(waitMs, 200) };
    return { answered: () => void redis.eval(answered, 1, "partner-calls", place).catch(() => {}) };
  },
};

let attempts = 0;
observeCalls((call) => {
  if (call.operation === "client.get") attempts += call.attempts ?? 0;
});
const api = createClient({ exchange, limiter: createLimiter({ budget }) });
await Promise.all(Array.from({ length: 20 }, () => api.client.get()));
console.log(`20 calls in ${attempts} attempts`);
await redis.quit();
