import { inboxUnderFire, lanesUnderFire } from "./inbox.ts";

inboxUnderFire({ events: 1_000, restartsAfter: [2] });
lanesUnderFire({ lanes: 8, perLane: 20, late: 3 });
