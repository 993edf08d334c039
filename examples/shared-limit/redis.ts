import { Redis } from "ioredis";

// while Redis is down, a command fails immediately: if it waited in the queue of the connection, the calls would wait, too
export const redis = new Redis(process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379", {
  enableOfflineQueue: false,
  lazyConnect: true,
  maxRetriesPerRequest: 1,
});
redis.on("error", (error) => console.error("Redis:", error.message));
await redis.connect();
