import { bullmqUnderFire } from "./bullmq-under-fire.ts";

bullmqUnderFire({ events: 20_000, restartsAfter: [3, 8] });
