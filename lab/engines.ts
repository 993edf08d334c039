export const engineNames = ["sqlite", "postgres", "redis", "bullmq"] as const;

/** An engine of the laboratory. `redis` is `redisStore`, whose receivers handle events inline; the others are inboxes. */
export type EngineName = (typeof engineNames)[number];
export type InboxName = Exclude<EngineName, "redis">;
