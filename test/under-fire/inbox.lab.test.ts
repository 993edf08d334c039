import { inboxUnderFire, lanesUnderFire } from "./inbox.ts";

inboxUnderFire({ events: 10_000, restartsAfter: [3, 8] });
lanesUnderFire({ lanes: 40, perLane: 150, late: 10 });
