import { storesUnderFire } from "./stores-under-fire.ts";

storesUnderFire({ events: 400, rounds: 3, mostAtOnce: 100 });
