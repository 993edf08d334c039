import { bullmqUnderFire } from "./bullmq-under-fire.ts";

bullmqUnderFire({ events: 1_000, restartsAfter: [2] });
