import { bullmqUnderFire } from "./bullmq.ts";

bullmqUnderFire({ events: 10_000, waves: 5, redisKilledIn: [1, 3], handlerMs: 100 });
