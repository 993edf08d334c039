import { bullmqUnderFire } from "./bullmq.ts";

bullmqUnderFire({ events: 20_000, waves: 10, redisKilledIn: [3, 8], handlerMs: 100 });
