import { bullmqUnderFire } from "./bullmq.ts";

bullmqUnderFire({ events: 1_000, waves: 3, redisKilledIn: [2], handlerMs: 400 });
