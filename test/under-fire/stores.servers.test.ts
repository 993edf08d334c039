import { storesUnderFire } from "./stores.ts";

storesUnderFire({ events: 60, rounds: 1, mostAtOnce: 24 });
