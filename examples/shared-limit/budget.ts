// The calls of all processes are counted in Redis.
import { randomUUID } from "node:crypto";
import type { Budget, NoPlace, Place } from "@esim-webhooks/client";
import { redis } from "./redis.ts";

// a place's score is when it is free: three seconds after it was taken, or one after its answer
const now = "local t = redis.call('TIME') local now = t[1] * 1000 + math.floor(t[2] / 1000) ";
const take = `${now}
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= 10 then return redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2] - now end
redis.call('ZADD', KEYS[1], now + 3000, ARGV[1])
redis.call('PEXPIRE', KEYS[1], 3000)
return 0`;
const answered = `${now} return redis.call('ZADD', KEYS[1], 'XX', 'LT', now + 1000, ARGV[1])`;

// without Redis, this process counts only its own calls: one in 200 ms, because the others do the same
let nextAt = 0;
function takeAlone(): Place | NoPlace {
  const waitMs = nextAt - Date.now();
  if (waitMs > 0) return { waitMs };
  nextAt = Date.now() + 200;
  return { answered() {} };
}

export const budget: Budget = {
  async take() {
    const place = randomUUID();
    try {
      const waitMs = Number(await redis.eval(take, 1, "partner-calls", place));
      // an answer may free a place earlier
      if (waitMs > 0) return { waitMs: Math.min(waitMs, 200) };
      return { answered: async () => void (await redis.eval(answered, 1, "partner-calls", place)) };
    } catch {
      return takeAlone();
    }
  },
};
