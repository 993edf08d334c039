import { storesUnderFire } from "./stores.ts";

storesUnderFire({ events: 400, rounds: 3, mostAtOnce: 100 });
