import { bullmqUnderFire } from "./bullmq-under-fire.ts";

bullmqUnderFire({ events: 20_000, waves: 10, redisKilledIn: [3, 8], handlerMs: 100 });
