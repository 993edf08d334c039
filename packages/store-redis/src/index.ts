export type { RedisClient, RedisPipeline } from "./client.ts";
export type { RedisErrorCode } from "./errors.ts";
export type { RedisOptions } from "./open-redis.ts";
export type { RedisStateOptions } from "./redis-state.ts";
export { redisState } from "./redis-state.ts";
export type { RedisStore, RedisStoreOptions } from "./redis-store.ts";
export { redisStore } from "./redis-store.ts";
