// What the reader answers. Each takes a connection, which sees what is committed, and what it is asked.
export { backup } from "./backup.ts";
export { copyCounts } from "./copy-counts.ts";
export { count } from "./count.ts";
export { dataVersion } from "./data-version.ts";
export { eventRecords } from "./event-records.ts";
export { get } from "./get.ts";
export { latestRecords } from "./latest-records.ts";
export { list } from "./list.ts";
export { quickCheck } from "./quick-check.ts";
export { read } from "./read.ts";
export { sources } from "./sources.ts";
export { readState } from "./state.ts";
export { stateRecords } from "./state-records.ts";
export { stats } from "./stats.ts";
