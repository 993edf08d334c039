import { storesUnderFire } from "./stores-under-fire.ts";

storesUnderFire({ events: 60, rounds: 1, mostAtOnce: 24 });
